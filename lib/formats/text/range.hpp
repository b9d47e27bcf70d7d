#pragma once

#include <cstddef>
#include <string_view>

namespace cogen::text {

/// Bytes [begin, end) of some text.
struct range {
  std::size_t begin;
  std::size_t end;

  bool empty() const noexcept { return begin == end; }
  std::string_view slice(std::string_view text) const noexcept { return text.substr(begin, end - begin); }

  friend bool operator==(const range&, const range&) = default;
};

}  // namespace cogen::text
