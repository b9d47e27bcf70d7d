#pragma once

#include <string>

namespace cogen::text {

/// A part of a rendered chat, by who wrote it.
struct text_segment {
  std::string text;
  /// Written by the model's template, whose control tokens count; not by a message, whose control tokens are plain
  /// text.
  bool trusted = false;

  friend bool operator==(const text_segment&, const text_segment&) = default;
};

}  // namespace cogen::text
