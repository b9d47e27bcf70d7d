#pragma once

#include "nn/network_on_device.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

namespace cogen::detail {

/// The default max_batched_tokens on a device.
inline constexpr int device_step_tokens = 2048;

/// The default with kv_quantization or sinks, which reserve room for that many new tokens in each slot.
inline constexpr int ring_step_tokens = 512;

/// Optimizations that can be turned off, to measure their effect.
struct device_switches {
  bool recorded = true;    ///< decode steps replay graphs
  bool overlapped = true;  ///< a step is launched before the previous one has been absorbed
};

/// Sets the runner and the scheduler's limits for an engine whose network is on a device. `positions`: the most tokens
/// of a sequence that the model can read. Throws std::invalid_argument, naming option, value and limit, for options
/// that a device does not support, or that need more memory than it has.
void put_on_device(engine_parts& parts, const nn::device_model& model, int vocabulary, std::int64_t positions,
                   const engine_options& options, const device_switches& switches = {});

}  // namespace cogen::detail
