#include "text/charsmap.hpp"

#include "text/graphemes.hpp"
#include "text/utf8.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace cogen::text {
namespace {

static_assert(std::endian::native == std::endian::little, "the table is little-endian");

constexpr std::size_t unit_bytes = sizeof(std::uint32_t);
constexpr std::size_t longest_grapheme = 5;

// The layout of a unit is that of the library Darts-clone.
constexpr std::uint32_t label_of(std::uint32_t unit) { return unit & (1u << 31 | 0xFF); }
constexpr bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10) << ((unit & 1u << 9) >> 6); }
constexpr std::uint32_t value_of(std::uint32_t unit) { return unit & ~(1u << 31); }

std::vector<std::uint32_t> units_of(std::string_view table) {
  std::uint32_t bytes = 0;
  if (table.size() >= unit_bytes) std::memcpy(&bytes, table.data(), unit_bytes);
  if (bytes == 0 || bytes % unit_bytes != 0 || bytes > table.size() - unit_bytes) {
    throw std::invalid_argument("a precompiled charsmap of " + std::to_string(table.size()) + " bytes names " +
                                std::to_string(bytes) + " bytes of units");
  }
  std::vector<std::uint32_t> units(bytes / unit_bytes);
  std::memcpy(units.data(), table.data() + unit_bytes, bytes);
  return units;
}

}  // namespace

charsmap::charsmap(const charsmap_step& step)
    : units_(units_of(step.table)),
      contents_(step.table.substr(unit_bytes + units_.size() * unit_bytes)),
      by_(step.by) {
  if (!contents_.empty() && contents_.back() != '\0') {
    throw std::invalid_argument("the last replacement of a precompiled charsmap has no end");
  }
  if (!is_utf8(contents_)) throw std::invalid_argument("a replacement of a precompiled charsmap is not valid UTF-8");
}

std::string charsmap::operator()(std::string_view text) const {
  return by_ == charsmap_step::matching::grapheme ? by_grapheme(text) : by_longest_prefix(text);
}

std::string charsmap::by_longest_prefix(std::string_view text) const {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto found = longest_prefix(text);
    auto length = found ? found->length : first_character(text).length;
    result += found ? found->content : text.substr(0, length);
    text.remove_prefix(length);
  }
  return result;
}

std::string charsmap::by_grapheme(std::string_view text) const {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto length = first_grapheme(text);
    append_grapheme(result, text.substr(0, length));
    text.remove_prefix(length);
  }
  return result;
}

void charsmap::append_grapheme(std::string& to, std::string_view grapheme) const {
  if (grapheme.size() <= longest_grapheme) {
    if (auto found = shortest_prefix(grapheme)) {
      to += found->content;
      return;
    }
  }
  while (!grapheme.empty()) {
    auto character = grapheme.substr(0, first_character(grapheme).length);
    auto found = shortest_prefix(character);
    to += found ? found->content : character;
    grapheme.remove_prefix(character.size());
  }
}

std::optional<charsmap::match> charsmap::longest_prefix(std::string_view text) const {
  std::optional<match> longest;
  each_prefix(text, [&](match found) {
    // One that ends within a character would leave the rest of it behind.
    if (is_utf8(text.substr(0, found.length))) longest = found;
    return true;
  });
  return longest;
}

std::optional<charsmap::match> charsmap::shortest_prefix(std::string_view text) const {
  std::optional<match> shortest;
  each_prefix(text, [&](match found) {
    shortest = found;
    return false;
  });
  return shortest;
}

template <typename Found>
void charsmap::each_prefix(std::string_view text, Found&& found) const {
  std::size_t at = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    if (at >= units_.size() || label_of(units_[at]) != byte) return;
    const auto unit = units_[at];
    at ^= offset_of(unit);
    if (!has_leaf(unit) || at >= units_.size()) continue;
    if (auto content = content_at(value_of(units_[at]))) {
      if (!found(match{i + 1, *content})) return;
    }
  }
}

std::optional<std::string_view> charsmap::content_at(std::uint32_t offset) const {
  if (offset >= contents_.size()) return std::nullopt;
  std::string_view content(contents_.data() + offset);
  return is_utf8(content) ? std::optional(content) : std::nullopt;
}

}  // namespace cogen::text
