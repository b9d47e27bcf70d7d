#pragma once

#include <string_view>

namespace cogen::text {

/// Unicode's General_Category by its short name, such as "Lu".
std::string_view category_name(char32_t code_point) noexcept;

/// Unicode's White_Space property.
bool is_white_space(char32_t code_point) noexcept;

/// Letters, marks, decimal digits and connecting punctuation.
bool is_word_character(char32_t code_point) noexcept;

/// What `\w` matches in a pattern of a tokenizer file: no joiners, but Latin-1's superscripts and fractions.
bool is_pattern_word(char32_t code_point) noexcept;

bool is_decimal(char32_t code_point) noexcept;

/// Digits of any kind: decimal, letters, fractions.
bool is_numeric(char32_t code_point) noexcept;

/// Control, format and private-use characters.
bool is_control(char32_t code_point) noexcept;

bool is_nonspacing_mark(char32_t code_point) noexcept;

/// Marks of any kind.
bool is_mark(char32_t code_point) noexcept;

/// Chinese characters, which BERT's vocabularies hold one by one.
bool is_ideograph(char32_t code_point) noexcept;

std::string_view without_leading_space(std::string_view text) noexcept;
std::string_view without_trailing_space(std::string_view text) noexcept;

}  // namespace cogen::text
