#include "engine/snapshot/device_snapshot_format.hpp"

#include "engine/snapshot/snapshot_format.hpp"

#include <fmt/format.h>

namespace cogen::detail {

std::string snapshot_format(const cache::device_options& options, const kv_options& kv, std::string_view device) {
  auto text = fmt::format("{} on {}", c10::toString(options.type), device.substr(0, device.find(':')));
  text += format_of(kv.quantization, options.sinks);
  if (options.ring > 0) text += fmt::format(", a ring of {}", options.ring);
  return text;
}

}  // namespace cogen::detail
