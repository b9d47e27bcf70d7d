#include "text/token_bytes.hpp"

#include "text/byte_alphabet.hpp"

#include <charconv>
#include <optional>

namespace cogen::text {
namespace {

std::optional<char> byte_literal(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || !spelling.ends_with('>')) return std::nullopt;
  unsigned value = 0;
  auto [end, error] = std::from_chars(spelling.data() + 3, spelling.data() + 5, value, 16);
  if (error != std::errc{} || end != spelling.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

std::string with_spaces(std::string_view spelling) {
  std::string text;
  for (auto at = spelling.find(lower_block); at != std::string_view::npos; at = spelling.find(lower_block)) {
    text.append(spelling.substr(0, at)) += ' ';
    spelling.remove_prefix(at + lower_block.size());
  }
  return text.append(spelling);
}

}  // namespace

std::string bytes_of_token(std::string_view token_spelling, spelling how) {
  switch (how) {
    case spelling::byte_level:
      return bytes_of_spelling(token_spelling).value_or(std::string(token_spelling));
    case spelling::sentence_piece:
      if (auto byte = byte_literal(token_spelling)) return std::string(1, *byte);
      return with_spaces(token_spelling);
    case spelling::plain:
      break;
  }
  return std::string(token_spelling);
}

}  // namespace cogen::text
