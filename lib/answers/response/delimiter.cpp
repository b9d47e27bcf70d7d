#include "answers/response/delimiter.hpp"

#include <algorithm>

namespace cogen::response {
namespace {

using part_kind = delimiter_part::kind;

bool is_blank(const delimiter_part& part) { return part.type == part_kind::space; }

void append_space(delimiter& parts) {
  if (parts.empty() || !is_blank(parts.back())) parts.push_back({part_kind::space});
}

}  // namespace

bool is_space(char byte) noexcept { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

bool is_name_byte(char byte) noexcept {
  return static_cast<unsigned char>(byte) > ' ' &&
         std::string_view("<>\"'{}[](),;:=|\\").find(byte) == std::string_view::npos;
}

void append_text(delimiter& parts, std::string_view text) {
  for (const char byte : text) {
    if (is_space(byte)) {
      append_space(parts);
      continue;
    }
    if (parts.empty() || parts.back().type != part_kind::text) parts.push_back({part_kind::text});
    parts.back().text += byte;
  }
}

delimiter trimmed(delimiter parts) {
  while (!parts.empty() && is_blank(parts.back())) parts.pop_back();
  parts.erase(parts.begin(), std::ranges::find_if_not(parts, is_blank));
  return parts;
}

delimiter delimiter_of(std::string_view spelling) {
  delimiter parts;
  while (!spelling.empty()) {
    const bool is_name = spelling.starts_with("{name}"), is_id = spelling.starts_with("{id}");
    if (is_name || is_id) {
      parts.push_back({is_name ? part_kind::name : part_kind::id});
      spelling.remove_prefix(spelling.find('}') + 1);
    } else {
      append_text(parts, spelling.substr(0, 1));
      spelling.remove_prefix(1);
    }
  }
  return trimmed(std::move(parts));
}

}  // namespace cogen::response
