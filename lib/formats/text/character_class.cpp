#include "formats/text/character_class.hpp"

#include "formats/text/utf8.hpp"

#include <utf8proc.h>

namespace cogen::text {
namespace {

utf8proc_category_t category(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_alphabetic_symbol(char32_t c) {
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
         (c >= 0x1F170 && c <= 0x1F189);
}

bool is_joiner(char32_t c) {
  constexpr char32_t zero_width_non_joiner = 0x200C;
  constexpr char32_t zero_width_joiner = 0x200D;
  return c == zero_width_non_joiner || c == zero_width_joiner;
}

}  // namespace

std::string_view category_name(char32_t c) noexcept {
  return utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
}

bool is_white_space(char32_t c) noexcept {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word_character(char32_t c) noexcept {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return is_joiner(c) || is_alphabetic_symbol(c);
  }
}

bool is_pattern_word(char32_t c) noexcept {
  const bool is_latin1_number = c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0xBC && c <= 0xBE);
  return is_latin1_number || (is_word_character(c) && !is_joiner(c));
}

bool is_decimal(char32_t c) noexcept { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_numeric(char32_t c) noexcept {
  auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_control(char32_t c) noexcept {
  auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || kind == UTF8PROC_CATEGORY_CO;
}

bool is_nonspacing_mark(char32_t c) noexcept { return category(c) == UTF8PROC_CATEGORY_MN; }

bool is_mark(char32_t c) noexcept {
  auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_ME;
}

// The fifth range begins later than its Unicode block: BertNormalizer of Hugging Face `tokenizers` has it so.
bool is_ideograph(char32_t c) noexcept {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string_view without_leading_space(std::string_view text) noexcept {
  while (!text.empty()) {
    auto character = first_character(text);
    if (!is_white_space(character.code_point)) break;
    text.remove_prefix(character.length);
  }
  return text;
}

std::string_view without_trailing_space(std::string_view text) noexcept {
  while (!text.empty()) {
    auto begin = character_before(text, text.size());
    if (!is_white_space(first_character(text.substr(begin)).code_point)) break;
    text = text.substr(0, begin);
  }
  return text;
}

}  // namespace cogen::text
