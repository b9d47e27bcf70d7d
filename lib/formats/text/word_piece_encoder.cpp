#include "formats/text/word_piece_encoder.hpp"

#include "formats/text/plain_tokens.hpp"
#include "formats/text/utf8.hpp"

namespace cogen::text {
namespace {

bool has_at_most(std::size_t limit, std::string_view word) {
  for (; !word.empty() && limit > 0; --limit) word.remove_prefix(first_character(word).length);
  return word.empty();
}

}  // namespace

word_piece_encoder::word_piece_encoder(const tokenizer_spec& spec)
    : max_word_characters_(spec.max_word_characters), unknown_(spec.unknown) {
  const auto plain = plain_tokens(spec);
  for (std::size_t id = 0; id < plain.size(); ++id) {
    if (plain[id]) trie_.insert(spec.vocabulary[id], id);
  }
  continuing_ = trie_.find(spec.continuing_prefix);
}

void word_piece_encoder::encode(std::string_view word, text_budget& budget, std::vector<token>& tokens) const {
  const auto first = tokens.size();
  if (has_at_most(max_word_characters_, word) && append_tokens(word, budget, tokens)) return;
  tokens.resize(first);
  if (unknown_) tokens.push_back(*unknown_);
}

bool word_piece_encoder::append_tokens(std::string_view word, text_budget& budget, std::vector<token>& tokens) const {
  std::optional<byte_trie::node> start = byte_trie::root;
  while (!word.empty()) {
    std::size_t visited = 0;
    const auto found = start ? trie_.longest_prefix(word, *start, visited) : std::nullopt;
    budget.spend(visited);
    if (!found) return false;
    tokens.push_back(static_cast<token>(found->value));
    word.remove_prefix(found->length);
    start = continuing_;
  }
  return true;
}

}  // namespace cogen::text
