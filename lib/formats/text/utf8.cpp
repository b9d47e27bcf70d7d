#include "formats/text/utf8.hpp"

#include <algorithm>

namespace cogen::text {
namespace {

struct lead_byte {
  std::uint8_t length;
  std::uint8_t second_min;
  std::uint8_t second_max;
};

// Table 3-7 of the Unicode standard; length 0 marks bytes that begin no character.
constexpr lead_byte lead(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

std::size_t ascii_prefix(std::string_view text) {
  auto end = std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return static_cast<std::size_t>(end - text.begin());
}

}  // namespace

utf8_character first_character(std::string_view text) noexcept {
  auto first = static_cast<unsigned char>(text[0]);
  auto [length, low, high] = lead(first);
  if (length == 1) return {first, 1, utf8_state::valid};
  if (length == 0) return {replacement_character, 1, utf8_state::invalid};
  char32_t code_point = first & (0x7Fu >> length);
  for (std::uint8_t i = 1; i < length; ++i) {
    if (i == text.size()) return {replacement_character, i, utf8_state::incomplete};
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte < low || byte > high) return {replacement_character, i, utf8_state::invalid};
    code_point = code_point << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code_point, length, utf8_state::valid};
}

bool is_utf8(std::string_view text) noexcept {
  for (text.remove_prefix(ascii_prefix(text)); !text.empty(); text.remove_prefix(ascii_prefix(text))) {
    auto character = first_character(text);
    if (character.state != utf8_state::valid) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

std::string repaired_utf8(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size());
  while (!text.empty()) {
    auto character = first_character(text);
    if (character.state == utf8_state::valid) {
      repaired.append(text.substr(0, character.length));
    } else {
      append_utf8(repaired, replacement_character);
    }
    text.remove_prefix(character.length);
  }
  return repaired;
}

std::size_t complete_length(std::string_view text) noexcept {
  auto max_tail = std::min<std::size_t>(3, text.size());
  for (auto tail = max_tail; tail > 0; --tail) {
    auto character = first_character(text.substr(text.size() - tail));
    if (character.state == utf8_state::incomplete && character.length == tail) return text.size() - tail;
  }
  return text.size();
}

void append_utf8(std::string& text, char32_t code_point) {
  auto continuation = [&](int shift) { text += static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | code_point >> 6);
    continuation(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | code_point >> 12);
    continuation(6);
    continuation(0);
  } else {
    text += static_cast<char>(0xF0 | code_point >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

std::size_t character_before(std::string_view text, std::size_t end) noexcept {
  auto begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

}  // namespace cogen::text
