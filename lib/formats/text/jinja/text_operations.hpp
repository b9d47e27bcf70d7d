#pragma once

#include "formats/text/character_class.hpp"
#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"
#include "formats/text/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Where a character begins, in bytes; the text's size for those behind its end.
inline std::size_t offset_of(std::string_view text, std::int64_t character) noexcept {
  std::size_t offset = 0;
  for (; character > 0 && offset < text.size(); --character) offset += first_character(text.substr(offset)).length;
  return offset;
}

// Python's str methods of these names. The text must be valid UTF-8.

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);
std::string capitalize(std::string_view text);
std::string swapped_case(std::string_view text);
std::string case_folded(std::string_view text);

/// Whether repr() writes the character as it is.
bool is_printable(char32_t c);

/// Jinja's filter `title`: words begin after white space, hyphens and opening brackets only.
std::string title_words(std::string_view text);

/// Where the first and the last part lies in a text, in a time that grows as their sizes; npos if it is not there.
std::size_t first_place(std::string_view text, std::string_view part, std::size_t start = 0);
std::size_t last_place(std::string_view text, std::string_view part);

/// Which ends of a text an operation is about.
struct sides {
  bool left = true;
  bool right = true;
};

/// Without the white space (or the given characters) at its ends.
traced_text stripped(const traced_text& text, std::optional<std::string_view> characters, sides where = {});

/// Python's str.split and str.rsplit; negative `limit` means no limit. Fails for an empty separator.
std::vector<value> split(renderer& run, const traced_text& text, std::optional<std::string_view> separator,
                         std::int64_t limit, bool from_right);

/// Python's str.replace; negative `limit` means no limit.
value replaced(renderer& run, const traced_text& text, const traced_text& old, const traced_text& replacement,
               std::int64_t limit);

/// HTML's special characters as entities.
traced_text escaped(renderer& run, const traced_text& text);

/// Python's str.splitlines.
std::vector<value> lines_of(renderer& run, const traced_text& text, bool keep_ends);

}  // namespace cogen::text::jinja
