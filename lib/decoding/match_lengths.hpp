#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace cogen::detail {

/// An option of a drafter.
struct match_length {
  std::string_view name;
  int value;  ///< tokens
};

/// Throws std::invalid_argument unless 1 <= least <= most.
inline void check_match_lengths(std::string_view options, match_length least, match_length most) {
  if (least.value < 1)
    throw std::invalid_argument(fmt::format("{}.{} is {}; it must be at least 1", options, least.name, least.value));
  if (most.value < least.value)
    throw std::invalid_argument(fmt::format("{}.{} is {}; it must be at least {}, {}", options, most.name, most.value,
                                            least.name, least.value));
}

}  // namespace cogen::detail
