#pragma once

#include "formats/text/byte_pair_encoder.hpp"
#include "formats/text/symbol_chain.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/unigram_encoder.hpp"
#include "formats/text/vocabulary.hpp"
#include "formats/text/word_piece_encoder.hpp"

#include <string_view>
#include <variant>
#include <vector>

namespace cogen::text {

/// What encoders write to while they work on a piece. Kept between pieces to reuse its memory.
struct encoding_workspace {
  symbol_chain chain;
  std::vector<best_path> paths;
};

/// Finds the tokens of single pieces of text, by the specification's model. Immutable.
class piece_encoder {
 public:
  /// The vocabulary must outlive the encoder. Throws std::invalid_argument for a merge of unknown spellings.
  piece_encoder(const vocabulary& words, const tokenizer_spec& spec);

  /// Appends the tokens of a piece, which is valid UTF-8 in the vocabulary's spelling.
  /// Throws what text_budget throws.
  void encode(std::string_view piece, encoding_workspace& workspace, text_budget& budget,
              std::vector<token>& tokens) const;

 private:
  std::variant<byte_pair_encoder, unigram_encoder, word_piece_encoder> model_;
};

}  // namespace cogen::text
