#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// The rules that capture the bracket of such an array or object are named so, with the index of its distinct_rule.
inline constexpr std::string_view bracket_capture = "distinct-";

/// What has to differ in an array, its items, or in an object, the names of its members.
struct distinct_rule {
  bool endless = false;      ///< another one is always possible, however those that are there begin
  bool listed = false;       ///< there are no other names than the listed ones, but for those of `behind`
  bool behind = false;       ///< any others may come behind the required ones
  std::size_t required = 0;  ///< how many of the names, the first ones, are required
  std::vector<std::string> names = {};
};

}  // namespace cogen::grammar
