#pragma once

#include "snapshot/swap_store.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

namespace cogen::detail {

/// Sets the runner of a model on the CPU, and the limits that its cache has. Throws std::invalid_argument, naming
/// option, value and limit.
void put_on_cpu(engine_parts& parts, const std::shared_ptr<const model>& model, const engine_options& options,
                swap_room room);

}  // namespace cogen::detail
