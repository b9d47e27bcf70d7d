#pragma once

#include "simulation/coverage.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace cogen::scheduler::simulate {

/// One history, all of it drawn from the seed. Throws std::logic_error with a sentence where the scheduler breaks its
/// contract. What happens is told to `log`, if there is one.
void play(std::uint64_t seed, coverage& seen, const std::function<void(const std::string&)>& log = {});

}  // namespace cogen::scheduler::simulate
