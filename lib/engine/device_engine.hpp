#pragma once

#include "models/network_on_device.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/engine_parts.hpp>

namespace cogen::detail {

/// Tokens of one step where the options leave that open.
inline constexpr int device_step_tokens = 2048;

/// The same where tokens are packed or forgotten: room is kept for so many new ones in every slot.
inline constexpr int ring_step_tokens = 512;

/// What can be turned off, to see what it brings.
struct device_switches {
  bool recorded = true;    ///< steps of single tokens are played from recordings
  bool overlapped = true;  ///< a step is begun before the one before it has been looked at
};

/// The runner of an engine whose network is on a device, and what the scheduler has to know of it. `positions` is how
/// many tokens of a sequence the model can read. Throws std::invalid_argument, naming option, value and limit, for
/// options that have no meaning there, or ask for more memory than it has.
void put_on_device(engine_parts& parts, const models::device_model& model, int vocabulary, std::int64_t positions,
                   const engine_options& options, const device_switches& switches = {});

}  // namespace cogen::detail
