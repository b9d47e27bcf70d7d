#pragma once

#include "text/character_class.hpp"
#include "text/utf8.hpp"

#include <cstddef>
#include <string_view>

namespace cogen::text::jinja {

/// White space as Python's str.strip() has it.
inline bool is_python_space(char32_t c) noexcept { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

/// Where a text begins after its leading white space, and where it ends before its trailing white space.
inline std::size_t begin_after_space(std::string_view text) noexcept {
  std::size_t begin = 0;
  while (begin < text.size()) {
    auto character = first_character(text.substr(begin));
    if (!is_python_space(character.code_point)) break;
    begin += character.length;
  }
  return begin;
}

inline std::size_t end_before_space(std::string_view text) noexcept {
  auto end = text.size();
  while (end > 0) {
    auto begin = character_before(text, end);
    if (!is_python_space(first_character(text.substr(begin)).code_point)) break;
    end = begin;
  }
  return end;
}

}  // namespace cogen::text::jinja
