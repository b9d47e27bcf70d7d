#include "formats/text/base64.hpp"

#include <cstdint>

namespace cogen::text {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> decoded_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const auto padding = text.ends_with("==") ? 2u : text.ends_with('=') ? 1u : 0u;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text.substr(0, text.size() - padding)) {
    const auto digit = alphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

}  // namespace cogen::text
