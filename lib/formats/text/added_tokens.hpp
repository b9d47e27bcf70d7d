#pragma once

#include "formats/text/byte_trie.hpp"
#include "formats/text/range.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <bitset>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace cogen::text {

/// A part of a text: an added token, or text without any.
struct text_part {
  range where;
  std::optional<token> id;
};

/// Finds added tokens in a text: from left to right, the longest at each place, as Hugging Face `tokenizers` do.
class added_token_matcher {
 public:
  /// Says whether a control token may count at this place.
  using permission = std::function<bool(range)>;

  /// What happens to a place where a control token is not permitted.
  enum class refused_match { skipped, searched_within };

  void add(const added_token& added);
  bool empty() const noexcept { return tokens_.empty(); }

  /// The text in parts, none of them empty. The text must be valid UTF-8. Throws what text_budget throws.
  std::vector<text_part> split(std::string_view text, const permission& may_be_special, refused_match refused,
                               text_budget& budget) const;

 private:
  /// Where the spaces end that a token took last: others that begin among them need not visit them again.
  struct walked_spaces {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::optional<range> claimed(std::string_view text, range match, const added_token& added, std::size_t done,
                               walked_spaces& spaces) const;

  byte_trie trie_;
  std::bitset<256> first_bytes_;
  std::vector<added_token> tokens_;
};

}  // namespace cogen::text
