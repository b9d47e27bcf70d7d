#include "formats/text/byte_trie.hpp"

#include "formats/text/mixed_key.hpp"

#include <utility>

namespace cogen::text {
namespace {

constexpr std::uint64_t no_key = ~std::uint64_t{0};
constexpr std::size_t min_places = 64;

constexpr std::uint64_t key_of(byte_trie::node parent, unsigned char byte) { return std::uint64_t{parent} << 8 | byte; }

}  // namespace

void byte_trie::insert(std::string_view string, std::size_t value) {
  node current = root;
  for (char c : string) current = child_or_new(current, static_cast<unsigned char>(c));
  if (values_[current] == no_value) values_[current] = value;
}

std::optional<byte_trie::node> byte_trie::child(node parent, unsigned char byte) const noexcept {
  if (edges_.empty()) return std::nullopt;
  const auto& found = edges_[place_of(key_of(parent, byte))];
  return found.key == no_key ? std::nullopt : std::optional(found.child);
}

std::optional<std::size_t> byte_trie::value(node index) const noexcept {
  return values_[index] == no_value ? std::nullopt : std::optional(values_[index]);
}

std::optional<byte_trie::node> byte_trie::find(std::string_view string) const noexcept {
  std::optional<node> current = root;
  for (std::size_t i = 0; i < string.size() && current; ++i)
    current = child(*current, static_cast<unsigned char>(string[i]));
  return current;
}

std::optional<byte_trie::match> byte_trie::longest_prefix(std::string_view text, node start) const noexcept {
  std::size_t visited = 0;
  return longest_prefix(text, start, visited);
}

std::optional<byte_trie::match> byte_trie::longest_prefix(std::string_view text, node start,
                                                          std::size_t& visited) const noexcept {
  std::optional<match> longest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    ++visited;
    auto next = child(start, static_cast<unsigned char>(text[i]));
    if (!next) break;
    start = *next;
    if (values_[start] != no_value) longest = match{i + 1, values_[start]};
  }
  return longest;
}

std::size_t byte_trie::place_of(std::uint64_t key) const noexcept {
  auto place = static_cast<std::size_t>(mixed_key(key) >> 32) & (edges_.size() - 1);
  while (edges_[place].key != key && edges_[place].key != no_key) place = (place + 1) & (edges_.size() - 1);
  return place;
}

byte_trie::node byte_trie::child_or_new(node parent, unsigned char byte) {
  if (2 * values_.size() >= edges_.size()) grow();
  auto key = key_of(parent, byte);
  auto& found = edges_[place_of(key)];
  if (found.key == no_key) {
    found = {key, static_cast<node>(values_.size())};
    values_.push_back(no_value);
  }
  return found.child;
}

void byte_trie::grow() {
  auto old = std::exchange(edges_, {});
  edges_.assign(old.empty() ? min_places : 2 * old.size(), edge{no_key, root});
  for (const auto& each : old) {
    if (each.key != no_key) edges_[place_of(each.key)] = each;
  }
}

}  // namespace cogen::text
