#include "kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace curves {

namespace {

namespace cache = cogen::cache;

cache::options static_of(cache::scalar type, const room& room) {
  cache::options options;
  options.type = type;
  options.max_sequence_length = room.max_sequence_length;
  options.max_step_tokens = room.max_step_tokens;
  return options;
}

cache::options quantized(const cache::quantization& codecs, const room& room) {
  auto options = static_of(cache::scalar::f16, room);
  options.kv_quantization = codecs;
  return options;
}

cache::options window(const cache::sink_window& kept, const room& room) {
  auto options = static_of(cache::scalar::f16, room);
  options.sinks = kept;
  return options;
}

cache::options behind(cache::options options) {
  options.kv_offload = std::make_shared<cache::worker_transfer>();
  return options;
}

cache::options dynamic() {
  cache::options options;
  options.kind = cache::cache_kind::dynamic;
  return options;
}

using cache::scalar;

const std::array table{
    kind{"f32", "static, 32-bit floats", [](const room& r) { return static_of(scalar::f32, r); }},
    kind{"f16", "static, 16-bit floats", [](const room& r) { return static_of(scalar::f16, r); }},
    kind{"bf16", "static, bfloat16", [](const room& r) { return static_of(scalar::bf16, r); }},
    kind{"dynamic", "grows without a declared bound, bfloat16", [](const room&) { return dynamic(); }},
    kind{"int8", "8-bit keys and values", [](const room& r) { return quantized(cache::int8(), r); }},
    kind{"int8_int4", "8-bit keys, 4-bit values", [](const room& r) { return quantized(cache::int8_int4(), r); }},
    kind{"int4", "4-bit keys by channel, 4-bit values", [](const room& r) { return quantized(cache::int4(), r); }},
    kind{"kivi2", "2-bit keys by channel, 2-bit values", [](const room& r) { return quantized(cache::kivi2(), r); }},
    kind{"sinks", "4 sinks and a window of 1,020",
         [](const room& r) { return window({.sinks = 4, .window = 1020}, r); }},
    kind{"sliding", "a window of 1,024", [](const room& r) { return window({.sinks = 0, .window = 1024}, r); }},
    kind{"offloaded", "bfloat16 behind a transfer", [](const room& r) { return behind(static_of(scalar::bf16, r)); }},
    kind{"offloaded_int8", "int8 behind a transfer", [](const room& r) { return behind(quantized(cache::int8(), r)); }},
};

}  // namespace

std::span<const kind> kinds() { return table; }

const kind& kind_named(std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const kind& entry) { return entry.name == name; });
  if (found == table.end())
    throw std::invalid_argument(fmt::format("there is no cache kind \"{}\"; there are\n{}", name, list_of_kinds()));
  return *found;
}

std::string list_of_kinds() {
  std::string lines;
  for (const auto& each : table) lines += fmt::format("  {:<16} {}\n", each.name, each.description);
  return lines;
}

}  // namespace curves
