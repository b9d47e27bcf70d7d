#include "text/byte_trie.hpp"

namespace cogen::text {

void byte_trie::insert(std::string_view string, std::size_t value) {
  node at = root;
  for (char c : string) {
    auto [edge_at, is_new] =
        children_.try_emplace(edge(at, static_cast<unsigned char>(c)), static_cast<node>(values_.size()));
    if (is_new) values_.emplace_back();
    at = edge_at->second;
  }
  if (!values_[at]) values_[at] = value;
}

std::optional<byte_trie::node> byte_trie::child(node from, unsigned char byte) const {
  auto found = children_.find(edge(from, byte));
  return found == children_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<byte_trie::match> byte_trie::longest_prefix(std::string_view text) const {
  std::optional<match> longest;
  node at = root;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto next = child(at, static_cast<unsigned char>(text[i]));
    if (!next) break;
    at = *next;
    if (auto found = value(at)) longest = match{i + 1, *found};
  }
  return longest;
}

}  // namespace cogen::text
