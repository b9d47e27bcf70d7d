#include "formats/text/byte_alphabet.hpp"

#include "formats/text/utf8.hpp"

#include <array>

namespace cogen::text {
namespace {

constexpr char32_t first_unused = 0x100;
constexpr char32_t end_of_alphabet = 0x144;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr auto make_characters() {
  std::array<char32_t, 256> characters{};
  auto next = first_unused;
  for (unsigned byte = 0; byte < 256; ++byte) characters[byte] = stands_for_itself(byte) ? byte : next++;
  return characters;
}

constexpr auto characters = make_characters();

constexpr auto make_bytes() {
  std::array<std::int16_t, end_of_alphabet> bytes{};
  bytes.fill(-1);
  for (std::int16_t byte = 0; byte < 256; ++byte) bytes[characters[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}

constexpr auto bytes = make_bytes();

}  // namespace

char32_t printable_character(unsigned char byte) noexcept { return characters[byte]; }

std::optional<unsigned char> byte_of(char32_t printable) noexcept {
  if (printable >= end_of_alphabet || bytes[printable] < 0) return std::nullopt;
  return static_cast<unsigned char>(bytes[printable]);
}

void append_printable(std::string& spelled, std::string_view text) {
  for (char byte : text) append_utf8(spelled, printable_character(static_cast<unsigned char>(byte)));
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string text;
  while (!spelling.empty()) {
    auto character = first_character(spelling);
    auto byte = byte_of(character.code_point);
    if (!byte) return std::nullopt;
    text += static_cast<char>(*byte);
    spelling.remove_prefix(character.length);
  }
  return text;
}

}  // namespace cogen::text
