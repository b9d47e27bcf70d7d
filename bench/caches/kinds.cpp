#include "kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace curves {

namespace {

namespace cache = cogen::cache;

cache::options static_of(cache::scalar type, const room& room) {
  cache::options options;
  options.type = type;
  options.max_length = room.max_length;
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
};

}  // namespace

std::span<const kind> kinds() { return table; }

const kind& kind_named(std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const kind& each) { return each.name == name; });
  if (found == table.end())
    throw std::invalid_argument(fmt::format("there is no cache kind \"{}\"; there are\n{}", name, list_of_kinds()));
  return *found;
}

std::string list_of_kinds() {
  std::string lines;
  for (const auto& each : table) lines += fmt::format("  {:<16} {}\n", each.name, each.what);
  return lines;
}

}  // namespace curves
