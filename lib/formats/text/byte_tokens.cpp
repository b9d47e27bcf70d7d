#include "formats/text/byte_tokens.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>

namespace cogen::text {
namespace {

std::string byte_spelling(unsigned byte) {
  char spelled[8];
  std::snprintf(spelled, sizeof spelled, "<0x%02X>", byte);
  return spelled;
}

}  // namespace

byte_tokens::byte_tokens(const vocabulary& words) {
  for (unsigned byte = 0; byte < 256; ++byte) tokens_[byte] = words.find(byte_spelling(byte)).value_or(no_token);
}

bool byte_tokens::spell(std::string_view text) const noexcept {
  return std::all_of(text.begin(), text.end(), [&](char byte) { return token_of(byte) != no_token; });
}

std::optional<char> byte_literal(std::string_view spelling) noexcept {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || !spelling.ends_with('>')) return std::nullopt;
  unsigned value = 0;
  auto [end, error] = std::from_chars(spelling.data() + 3, spelling.data() + 5, value, 16);
  if (error != std::errc{} || end != spelling.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

}  // namespace cogen::text
