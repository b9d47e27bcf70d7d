#pragma once

#include "simulation/engine/coverage.hpp"
#include "simulation/script.hpp"

#include <cogen/model.hpp>

#include <memory>

namespace cogen::engine_simulation {

/// How many actions the history of a seed has.
int actions_of(std::uint64_t seed, const std::shared_ptr<const model>& over = nullptr);

/// Runs a history. Throws std::logic_error with a message where the engine breaks its contract. What happens is
/// written to `log`, if there is one.
/// Over the toy model, or a real one.
void play(const simulation::script& script, coverage& seen, const simulation::log& log,
          const std::shared_ptr<const model>& over = nullptr);

}  // namespace cogen::engine_simulation
