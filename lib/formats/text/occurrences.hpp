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
  for (std::size_t at = 0; at < text.size();) {
    const auto* place = memmem(text.data() + at, text.size() - at, part.data(), part.size());
    if (!place) break;
    at = static_cast<std::size_t>(static_cast<const char*>(place) - text.data());
    found.push_back({at, at + part.size()});
    at += part.size();
  }
  return found;
}

}  // namespace cogen::text
