#pragma once

#include "formats/text/byte_trie.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::text {

/// WordPiece (Devlin et al. 2018): from left to right the longest token of a word, which is unknown as a whole where
/// none fits. Immutable.
class word_piece_encoder {
 public:
  explicit word_piece_encoder(const tokenizer_spec& spec);

  /// Appends the tokens of a word, which is valid UTF-8.
  void encode(std::string_view word, text_budget& budget, std::vector<token>& tokens) const;

 private:
  bool append_tokens(std::string_view word, text_budget& budget, std::vector<token>& tokens) const;

  byte_trie trie_;
  std::optional<byte_trie::node> continuing_;
  std::size_t max_word_characters_;
  std::optional<token> unknown_;
};

}  // namespace cogen::text
