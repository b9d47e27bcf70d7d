#pragma once

#include "models/network_on_device.hpp"

#include <cogen/engine.hpp>

namespace cogen::detail {

/// Tokens of one step where the options leave that open.
inline constexpr int device_step_tokens = 2048;

/// The runner of an engine whose network is on a device, and what the scheduler has to know of it. `positions` is how
/// many tokens of a sequence the model can read. Throws std::invalid_argument, naming option, value and limit, for
/// options that have no meaning there, or ask for more memory than it has.
void put_on_device(engine_parts& parts, const models::device_model& model, int vocabulary, std::int64_t positions,
                   const engine_options& options);

}  // namespace cogen::detail
