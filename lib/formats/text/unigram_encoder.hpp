#pragma once

#include "formats/text/byte_tokens.hpp"
#include "formats/text/byte_trie.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/vocabulary.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::text {

/// The best tokens of a text up to some byte.
struct best_path {
  double score;
  std::size_t begin;  ///< of the last token
  token last;
};

/// The most probable tokens of single pieces by a unigram model (Kudo 2018), found by Viterbi's algorithm. Immutable.
class unigram_encoder {
 public:
  unigram_encoder(const vocabulary& words, const tokenizer_spec& spec);

  /// Appends the tokens of a piece, which is valid UTF-8 in the vocabulary's spelling.
  void encode(std::string_view piece, std::vector<best_path>& workspace, text_budget& budget,
              std::vector<token>& tokens) const;

 private:
  void find_paths(std::string_view piece, std::vector<best_path>& paths, text_budget& budget) const;
  bool extend(std::string_view piece, std::size_t begin, std::vector<best_path>& paths, text_budget& budget) const;
  void append_unknown(std::string_view spelled, std::vector<token>& tokens) const;

  byte_trie trie_;
  std::vector<double> scores_;
  double unknown_score_;
  std::optional<byte_tokens> bytes_;
  std::optional<token> unknown_;
};

}  // namespace cogen::text
