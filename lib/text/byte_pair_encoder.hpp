#pragma once

#include "text/merge_table.hpp"
#include "text/symbol_chain.hpp"
#include "text/tokenizer_spec.hpp"
#include "text/vocabulary.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::text {

/// Byte-pair encoding of single pieces (Sennrich et al. 2016): repeatedly joins the neighbors whose merge is the most
/// urgent, the leftmost first. Immutable.
class byte_pair_encoder {
 public:
  /// The vocabulary must outlive the encoder. Throws std::invalid_argument for a merge of unknown spellings.
  byte_pair_encoder(const vocabulary& words, const tokenizer_spec& spec);

  /// Appends the tokens of a piece, which is valid UTF-8 in the vocabulary's spelling.
  void encode(std::string_view piece, symbol_chain& workspace, std::vector<token>& to) const;

 private:
  std::optional<token> whole(std::string_view piece) const;
  void begin(std::string_view piece, symbol_chain& chain) const;
  std::optional<token> token_of(std::string_view character, char32_t code_point) const;
  bool append_bytes(std::string_view character, symbol_chain& chain) const;

  const vocabulary* words_;
  merge_table merges_;
  std::array<token, 0x200> common_characters_;
  std::optional<std::array<token, 256>> byte_tokens_;
  std::vector<bool> is_special_;
  std::optional<token> unknown_;
  bool fuse_unknown_;
  bool ignore_merges_;
};

}  // namespace cogen::text
