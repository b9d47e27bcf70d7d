#include "formats/json/printable.hpp"

#include <cstddef>

namespace cogen::json {
namespace {

constexpr std::size_t max_shown_bytes = 96;

bool is_printable(char c) { return c >= ' ' && c <= '~' && c != '\'' && c != '\\'; }

void append_escaped(std::string& shown, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  shown.append("\\x").append({digits[byte / 16], digits[byte % 16]});
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, max_shown_bytes)) {
    if (is_printable(c)) {
      shown += c;
    } else {
      append_escaped(shown, c);
    }
  }
  if (text.size() > max_shown_bytes) shown += "... (" + std::to_string(text.size()) + " bytes)";
  return shown;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace cogen::json
