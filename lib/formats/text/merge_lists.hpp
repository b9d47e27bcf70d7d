#pragma once

#include "formats/text/merge_table.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/vocabulary.hpp"

#include <string>
#include <unordered_map>

namespace cogen::text {

/// The merges that a specification lists. Throws std::invalid_argument for one of unknown spellings.
merge_table listed_merges(const vocabulary& words, const tokenizer_spec& spec);

/// The merges of a vocabulary with scores.
struct scored_merges {
  merge_table table;
  /// Ids for the characters that are no tokens but parts of some; they begin behind the vocabulary.
  std::unordered_map<std::string, token> parts;
};

/// Every pair of tokens or characters that form a token merges; the highest score comes first (SentencePiece's BPE).
scored_merges merges_by_score(const vocabulary& words, const tokenizer_spec& spec);

}  // namespace cogen::text
