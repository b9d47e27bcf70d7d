#pragma once

#include <string>

namespace cogen::text {

/// A part of a rendered chat, by author.
struct text_segment {
  std::string text;
  /// True: written by the model's template, so its control tokens count. False: from a message, so control tokens in it
  /// are plain text.
  bool trusted = false;

  friend bool operator==(const text_segment&, const text_segment&) = default;
};

}  // namespace cogen::text
