#pragma once

#include "simulation/coverage.hpp"
#include "simulation/script.hpp"

namespace cogen::scheduler::simulate {

/// How many actions the history of a seed has.
int actions_of(std::uint64_t seed);

/// Plays a history. Throws std::logic_error with a message where the scheduler breaks its contract. What happens is
/// written to `log`, if there is one.
void play(const simulation::script& script, coverage& seen, const simulation::log& log);

}  // namespace cogen::scheduler::simulate
