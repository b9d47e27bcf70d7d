#include "formats/text/byte_trie.hpp"

#include <utility>

namespace cogen::text {
namespace {

constexpr std::uint64_t no_key = ~std::uint64_t{0};
constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;  // Fibonacci hashing, Knuth volume 3, section 6.4
constexpr std::size_t fewest_places = 64;

constexpr std::uint64_t key_of(byte_trie::node from, unsigned char byte) { return std::uint64_t{from} << 8 | byte; }

}  // namespace

void byte_trie::insert(std::string_view string, std::size_t value) {
  node at = root;
  for (char c : string) at = child_or_new(at, static_cast<unsigned char>(c));
  if (values_[at] == no_value) values_[at] = value;
}

std::optional<byte_trie::node> byte_trie::child(node from, unsigned char byte) const noexcept {
  if (edges_.empty()) return std::nullopt;
  const auto& found = edges_[place_of(key_of(from, byte))];
  return found.key == no_key ? std::nullopt : std::optional(found.to);
}

std::optional<std::size_t> byte_trie::value(node at) const noexcept {
  return values_[at] == no_value ? std::nullopt : std::optional(values_[at]);
}

std::optional<byte_trie::node> byte_trie::find(std::string_view string) const noexcept {
  std::optional<node> at = root;
  for (std::size_t i = 0; i < string.size() && at; ++i) at = child(*at, static_cast<unsigned char>(string[i]));
  return at;
}

std::optional<byte_trie::match> byte_trie::longest_prefix(std::string_view text, node from) const noexcept {
  std::size_t visited = 0;
  return longest_prefix(text, from, visited);
}

std::optional<byte_trie::match> byte_trie::longest_prefix(std::string_view text, node from,
                                                          std::size_t& visited) const noexcept {
  std::optional<match> longest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    ++visited;
    auto next = child(from, static_cast<unsigned char>(text[i]));
    if (!next) break;
    from = *next;
    if (values_[from] != no_value) longest = match{i + 1, values_[from]};
  }
  return longest;
}

std::size_t byte_trie::place_of(std::uint64_t key) const noexcept {
  auto mixed = (key ^ key >> 29) * golden_ratio;
  auto place = static_cast<std::size_t>(mixed >> 32) & (edges_.size() - 1);
  while (edges_[place].key != key && edges_[place].key != no_key) place = (place + 1) & (edges_.size() - 1);
  return place;
}

byte_trie::node byte_trie::child_or_new(node from, unsigned char byte) {
  if (2 * values_.size() >= edges_.size()) grow();
  auto key = key_of(from, byte);
  auto& found = edges_[place_of(key)];
  if (found.key == no_key) {
    found = {key, static_cast<node>(values_.size())};
    values_.push_back(no_value);
  }
  return found.to;
}

void byte_trie::grow() {
  auto old = std::exchange(edges_, {});
  edges_.assign(old.empty() ? fewest_places : 2 * old.size(), edge{no_key, root});
  for (const auto& each : old) {
    if (each.key != no_key) edges_[place_of(each.key)] = each;
  }
}

}  // namespace cogen::text
