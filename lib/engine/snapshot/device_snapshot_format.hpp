#pragma once

#include <cogen/cache/device_cache.hpp>
#include <cogen/engine_options.hpp>

#include <string>
#include <string_view>

namespace cogen::detail {

/// Everything, except the model, that determines the bytes of a slot on a device. `device` is the name of the backend.
std::string snapshot_format(const cache::device_options& options, const kv_options& kv, std::string_view device);

}  // namespace cogen::detail
