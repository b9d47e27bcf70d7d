#include "formats/text/unicode_forms.hpp"

#include "formats/text/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace cogen::text {
namespace {

constexpr char32_t capital_i_with_dot = 0x130;
constexpr char32_t combining_dot_above = 0x307;

bool is_composed(unicode_form form) { return form == unicode_form::nfc || form == unicode_form::nfkc; }

utf8proc_option_t decomposition(unicode_form form) {
  bool compatible = form == unicode_form::nfkc || form == unicode_form::nfkd;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
}

void append_decomposed(std::vector<utf8proc_int32_t>& output, char32_t code_point, utf8proc_option_t options) {
  constexpr utf8proc_ssize_t longest = 32;
  utf8proc_int32_t parts[longest];
  int boundary = UTF8PROC_BOUNDCLASS_START;
  auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts, longest, options, &boundary);
  if (count < 0 || count > longest) throw std::runtime_error("a character cannot be decomposed");
  output.insert(output.end(), parts, parts + count);
}

int combining_class(utf8proc_int32_t code_point) { return utf8proc_get_property(code_point)->combining_class; }

void put_marks_in_order(std::vector<utf8proc_int32_t>& text) {
  auto is_mark = [](auto c) { return combining_class(c) > 0; };
  for (auto end = text.begin(); end != text.end();) {
    auto begin = std::find_if(end, text.end(), is_mark);
    end = std::find_if_not(begin, text.end(), is_mark);
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
  }
}

std::string encoded(const std::vector<utf8proc_int32_t>& code_points, std::size_t count) {
  std::string text;
  text.reserve(count);
  for (std::size_t i = 0; i < count; ++i) append_utf8(text, static_cast<char32_t>(code_points[i]));
  return text;
}

std::string normalized(std::string_view text, unicode_form form) {
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(text.size());
  for (; !text.empty();) {
    auto character = first_character(text);
    append_decomposed(code_points, character.code_point, decomposition(form));
    text.remove_prefix(character.length);
  }
  put_marks_in_order(code_points);
  auto count = static_cast<utf8proc_ssize_t>(code_points.size());
  if (is_composed(form)) {
    auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    count = utf8proc_normalize_utf32(code_points.data(), count, options);
  }
  return encoded(code_points, static_cast<std::size_t>(count));
}

std::string lower_case(std::string_view text) {
  std::string lowered;
  lowered.reserve(text.size());
  while (!text.empty()) {
    auto character = first_character(text);
    if (character.code_point == capital_i_with_dot) {
      lowered += 'i';
      append_utf8(lowered, combining_dot_above);
    } else {
      append_utf8(lowered,
                  static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code_point))));
    }
    text.remove_prefix(character.length);
  }
  return lowered;
}

// Nothing below U+0300 changes in composed form, nothing below U+0080 in any.
bool is_already(std::string_view text, unicode_form form) {
  unsigned char first_changing = form == unicode_form::nfc ? 0xCC : 0x80;
  return std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < first_changing; });
}

}  // namespace

std::string in_unicode_form(std::string_view text, unicode_form form) {
  if (form == unicode_form::lowercase) return lower_case(text);
  return is_already(text, form) ? std::string(text) : normalized(text, form);
}

}  // namespace cogen::text
