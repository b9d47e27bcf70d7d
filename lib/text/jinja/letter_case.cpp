#include "text/jinja/letter_case.hpp"

#include "text/jinja/python_space.hpp"
#include "text/utf8.hpp"

#include <utf8proc.h>

namespace cogen::text::jinja {
namespace {

constexpr char32_t sharp_s = 0xDF;

void append_upper(std::string& to, char32_t c) {
  if (c == sharp_s) {
    to += "SS";
  } else {
    append_utf8(to, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& to, char32_t c) {
  if (c == sharp_s) {
    to += "Ss";
  } else {
    append_utf8(to, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_lower(std::string& to, char32_t c) {
  append_utf8(to, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

bool has_case(char32_t c) {
  auto code_point = static_cast<utf8proc_int32_t>(c);
  return utf8proc_tolower(code_point) != code_point || utf8proc_toupper(code_point) != code_point || c == sharp_s;
}

template <typename Append>
std::string with_each(std::string_view text, Append&& append) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto character = first_character(text);
    append(result, character.code_point);
    text.remove_prefix(character.length);
  }
  return result;
}

}  // namespace

std::string upper(std::string_view text) { return with_each(text, append_upper); }
std::string lower(std::string_view text) { return with_each(text, append_lower); }

std::string title(std::string_view text) {
  bool begins_word = true;
  return with_each(text, [&](std::string& to, char32_t c) {
    begins_word ? append_title(to, c) : append_lower(to, c);
    begins_word = !has_case(c);
  });
}

std::string title_words(std::string_view text) {
  constexpr std::u32string_view openings = U"-({[<";
  bool begins_word = true;
  return with_each(text, [&](std::string& to, char32_t c) {
    begins_word ? append_upper(to, c) : append_lower(to, c);
    begins_word = is_python_space(c) || openings.find(c) != std::u32string_view::npos;
  });
}

std::string capitalize(std::string_view text) {
  bool is_first = true;
  return with_each(text, [&](std::string& to, char32_t c) {
    is_first ? append_title(to, c) : append_lower(to, c);
    is_first = false;
  });
}

}  // namespace cogen::text::jinja
