#pragma once

#include "formats/text/byte_tokens.hpp"
#include "formats/text/merge_table.hpp"
#include "formats/text/symbol_chain.hpp"
#include "formats/text/tokenizer_spec.hpp"
#include "formats/text/vocabulary.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cogen::text {

struct scored_merges;

/// Byte-pair encoding of single pieces (Sennrich et al. 2016): repeatedly joins the neighbors whose merge is the most
/// urgent, the leftmost first. Immutable.
class byte_pair_encoder {
 public:
  /// The vocabulary must outlive the encoder. Throws std::invalid_argument for a merge of unknown spellings.
  byte_pair_encoder(const vocabulary& words, const tokenizer_spec& spec);

  /// Appends the tokens of a piece, which is valid UTF-8 in the vocabulary's spelling.
  void encode(std::string_view piece, symbol_chain& workspace, std::vector<token>& tokens) const;

 private:
  byte_pair_encoder(const vocabulary& words, const tokenizer_spec& spec, scored_merges merges);

  std::optional<token> whole(std::string_view piece) const;
  void begin(std::string_view piece, symbol_chain& chain) const;
  std::optional<token> token_of(std::string_view character, char32_t code_point) const;
  std::optional<token> find(std::string_view character) const;
  void replace_parts(std::size_t first, std::vector<token>& tokens) const;

  const vocabulary* words_;
  merge_table merges_;
  std::unordered_map<std::string, token> parts_;  // characters that are no tokens, but parts of some
  std::vector<std::string> spelled_parts_;        // by id, from the end of the vocabulary on
  std::array<token, 0x200> common_characters_;
  std::optional<byte_tokens> bytes_;
  std::vector<bool> is_plain_;
  std::optional<token> unknown_;
  bool fuse_unknown_;
  bool ignore_merges_;
};

}  // namespace cogen::text
