#pragma once

#include <string_view>

namespace cogen::text {

/// Unicode's White_Space property.
bool is_white_space(char32_t code_point) noexcept;

/// Letters, marks, decimal digits and connecting punctuation.
bool is_word_character(char32_t code_point) noexcept;

/// Digits of any kind: decimal, letters, fractions.
bool is_numeric(char32_t code_point) noexcept;

std::string_view without_leading_space(std::string_view text) noexcept;
std::string_view without_trailing_space(std::string_view text) noexcept;

}  // namespace cogen::text
