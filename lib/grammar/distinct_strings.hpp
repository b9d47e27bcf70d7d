#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace cogen::grammar {

/// The rules that capture the beginning of an array of distinct strings are named so.
inline constexpr std::string_view array_capture = "distinct-array";

/// The strings of an array that has to have each of them once.
class distinct_strings {
 public:
  distinct_strings() = default;
  /// Of what a text has behind the bracket that opens the array.
  explicit distinct_strings(std::string_view text);

  /// Whether the array is still open.
  bool is_open() const noexcept { return is_open_; }

  /// Whether the array, if the text goes on like this, has a string twice.
  bool would_repeat(std::string_view more) const;

 private:
  std::set<std::string> values_;
  std::string rest_;  // behind the last whole string
  bool is_open_ = false;
};

/// The place of the last bracket in a JSON text, or in a beginning of one, that opens an array; npos if there is none.
std::size_t last_array(std::string_view json);

}  // namespace cogen::grammar
