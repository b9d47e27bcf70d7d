#include "formats/text/character_filters.hpp"

#include "formats/text/character_class.hpp"
#include "formats/text/utf8.hpp"

namespace cogen::text {
namespace {

template <typename Append>
std::string each_character(std::string_view text, Append&& append) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto character = first_character(text);
    append(result, character.code_point, text.substr(0, character.length));
    text.remove_prefix(character.length);
  }
  return result;
}

template <typename Removed>
std::string without(std::string_view text, Removed&& removed) {
  return each_character(text, [&](std::string& output, char32_t code_point, std::string_view spelled) {
    if (!removed(code_point)) output += spelled;
  });
}

bool is_line_space(char32_t c) { return c == '\t' || c == '\n' || c == '\r'; }

std::string cleaned(std::string_view text) {
  return each_character(text, [](std::string& output, char32_t c, std::string_view spelled) {
    if (is_line_space(c)) {
      output += ' ';
    } else if (c == 0 || c == replacement_character || is_control(c)) {
      return;
    } else if (is_white_space(c)) {
      output += ' ';
    } else {
      output += spelled;
    }
  });
}

std::string with_spaces_around_ideographs(std::string_view text) {
  return each_character(text, [](std::string& output, char32_t c, std::string_view spelled) {
    if (is_ideograph(c)) {
      output.append(" ").append(spelled).append(" ");
    } else {
      output += spelled;
    }
  });
}

}  // namespace

std::string filtered(std::string_view text, character_filter filter) {
  switch (filter) {
    case character_filter::clean:
      return cleaned(text);
    case character_filter::space_ideographs:
      return with_spaces_around_ideographs(text);
    case character_filter::remove_nonspacing_marks:
      return without(text, is_nonspacing_mark);
    case character_filter::remove_marks:
      break;
  }
  return without(text, is_mark);
}

}  // namespace cogen::text
