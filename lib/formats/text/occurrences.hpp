#pragma once

#include "formats/text/range.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

namespace cogen::text {

/// Where a part lies in a text, from left to right and without overlaps, in a time that grows as both sizes. An empty
/// part is nowhere.
inline std::vector<range> occurrences(std::string_view text, std::string_view part) {
  std::vector<range> found;
  if (part.empty()) return found;
  for (std::size_t position = 0; position < text.size();) {
    const auto* place = memmem(text.data() + position, text.size() - position, part.data(), part.size());
    if (!place) break;
    position = static_cast<std::size_t>(static_cast<const char*>(place) - text.data());
    found.push_back({position, position + part.size()});
    position += part.size();
  }
  return found;
}

}  // namespace cogen::text
