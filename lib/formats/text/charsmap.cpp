#include "formats/text/charsmap.hpp"

#include "formats/text/graphemes.hpp"
#include "formats/text/utf8.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace cogen::text {
namespace {

static_assert(std::endian::native == std::endian::little, "the table is little-endian");

constexpr std::size_t unit_bytes = sizeof(std::uint32_t);
constexpr std::size_t max_grapheme_bytes = 5;

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
      mode_(step.mode) {
  if (!contents_.empty() && contents_.back() != '\0') {
    throw std::invalid_argument("the last replacement of a precompiled charsmap has no end");
  }
  if (!is_utf8(contents_)) throw std::invalid_argument("a replacement of a precompiled charsmap is not valid UTF-8");
}

std::string charsmap::operator()(std::string_view text, text_budget& budget) const {
  return mode_ == charsmap_step::matching::grapheme ? by_grapheme(text, budget) : by_longest_prefix(text, budget);
}

std::string charsmap::by_longest_prefix(std::string_view text, text_budget& budget) const {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto found = longest_prefix(text, budget);
    auto length = found ? found->length : first_character(text).length;
    result += found ? contents_.data() + found->content : std::string(text.substr(0, length));
    budget.require(result.size());
    text.remove_prefix(length);
  }
  return result;
}

std::string charsmap::by_grapheme(std::string_view text, text_budget& budget) const {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto length = first_grapheme(text);
    append_grapheme(result, text.substr(0, length), budget);
    text.remove_prefix(length);
  }
  return result;
}

void charsmap::append_grapheme(std::string& output, std::string_view grapheme, text_budget& budget) const {
  if (grapheme.size() <= max_grapheme_bytes) {
    if (auto found = shortest_prefix(grapheme, budget)) {
      output += contents_.data() + found->content;
      budget.require(output.size());
      return;
    }
  }
  while (!grapheme.empty()) {
    auto character = grapheme.substr(0, first_character(grapheme).length);
    if (auto found = shortest_prefix(character, budget)) {
      output += contents_.data() + found->content;
    } else {
      output += character;
    }
    budget.require(output.size());
    grapheme.remove_prefix(character.size());
  }
}

std::optional<charsmap::match> charsmap::longest_prefix(std::string_view text, text_budget& budget) const {
  std::optional<match> longest;
  each_prefix(text, budget, [&](match found) {
    // One that ends within a character would leave the rest of it behind.
    if (found.length == text.size() || begins_character(text[found.length])) longest = found;
    return true;
  });
  return longest;
}

std::optional<charsmap::match> charsmap::shortest_prefix(std::string_view text, text_budget& budget) const {
  std::optional<match> shortest;
  each_prefix(text, budget, [&](match found) {
    shortest = found;
    return false;
  });
  return shortest;
}

template <typename Found>
void charsmap::each_prefix(std::string_view text, text_budget& budget, Found&& found) const {
  std::size_t index = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    budget.spend(1);
    const auto byte = static_cast<unsigned char>(text[i]);
    index ^= byte;
    if (index >= units_.size() || label_of(units_[index]) != byte) return;
    const auto unit = units_[index];
    index ^= offset_of(unit);
    if (!has_leaf(unit) || index >= units_.size()) continue;
    if (const auto content = value_of(units_[index]); is_content(content)) {
      if (!found(match{i + 1, content})) return;
    }
  }
}

/// What begins within a character is not text.
bool charsmap::is_content(std::uint32_t offset) const noexcept {
  return offset < contents_.size() && begins_character(contents_[offset]);
}

}  // namespace cogen::text
