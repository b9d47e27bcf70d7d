#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cogen::text {

inline constexpr char32_t replacement_character = 0xFFFD;

enum class utf8_state : std::uint8_t { valid, invalid, incomplete };

/// The first character of a text, or its longest part that could have begun one (as U+FFFD).
struct utf8_character {
  char32_t code_point;
  std::uint8_t length;  ///< in bytes, at least 1
  utf8_state state;     ///< incomplete: the text ended before the character did
};

/// The text must not be empty.
utf8_character first_character(std::string_view text) noexcept;

bool is_utf8(std::string_view text) noexcept;

/// The text with U+FFFD in place of each maximal invalid part.
std::string repaired_utf8(std::string_view text);

/// Whether a character of valid UTF-8 begins with the byte.
constexpr bool begins_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// The length of the text without a character that has begun at its end and may still become valid.
std::size_t complete_length(std::string_view text) noexcept;

void append_utf8(std::string& text, char32_t code_point);

/// Where the character that ends at `end` begins. The text must be valid and `end` above 0.
std::size_t character_before(std::string_view text, std::size_t end) noexcept;

}  // namespace cogen::text
