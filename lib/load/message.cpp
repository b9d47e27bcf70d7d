#include "load/message.hpp"

#include <cstddef>

namespace cogen::load {
namespace {

constexpr std::size_t longest_shown = 96;

bool is_printable(char c) { return c >= ' ' && c <= '~' && c != '\'' && c != '\\'; }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, longest_shown)) {
    if (is_printable(c)) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > longest_shown) shown += fmt::format("... ({} bytes)", text.size());
  return shown;
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", printable(text)); }

}  // namespace cogen::load
