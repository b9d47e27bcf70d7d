#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cogen::text {

/// GPT-2's one-to-one mapping of bytes to printable characters (all below U+0144).
char32_t printable_character(unsigned char byte) noexcept;

/// The byte that a character stands for; nothing for characters outside the mapping.
std::optional<unsigned char> byte_of(char32_t printable) noexcept;

void append_printable(std::string& spelled, std::string_view bytes);

/// The bytes that a spelling stands for; nothing if one of its characters is outside the mapping.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace cogen::text
