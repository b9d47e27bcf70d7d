#pragma once

#include "engine/snapshot/swap_store.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <memory>
#include <string>

namespace cogen::detail {

/// Sets the runner of a model on the CPU, and the limits that its cache has. Throws std::invalid_argument, naming
/// option, value and limit.
void put_on_cpu(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options,
                swap_room room);

/// What all ranks of a model must have in common.
std::string settings_on_cpu(const model& model, const engine_options& options);

}  // namespace cogen::detail
