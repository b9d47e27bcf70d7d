#pragma once

#include "network/nn/device/device_model.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/cache/device_cache.hpp>

namespace cogen::nn {

/// How a device lays out a cache of these options: with quantization or a window in all layers, the newest tokens in
/// full precision are in a ring. Of the host's memory, that of offloaded tokens, nothing is set. Throws
/// std::invalid_argument, with the reason, for formats that the device does not quantize in.
cache::device_options device_layout(const device_model& model, const cache::options& options);

/// Throws std::invalid_argument if the cache is too large for the int32 offsets, in tokens, at which a device reads a
/// prompt's keys in place.
void check_offsets(const cache::device_cache& kv);

bool has_sinks(const cache::device_cache& kv);

}  // namespace cogen::nn
