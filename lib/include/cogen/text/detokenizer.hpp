#pragma once

#include "cogen/text/tokenizer.hpp"
#include "cogen/token.hpp"

#include <string>
#include <string_view>

namespace cogen::text {

/// Turns tokens into text as they come. The pieces joined are the text of `tokenizer::decode`, and each piece alone is
/// valid UTF-8: the beginning of a character is held back (three bytes at most) until its end arrives.
///
/// The tokenizer must outlive it. One thread at a time. Copying copies what is held back, so that a fork can continue.
class detokenizer {
 public:
  explicit detokenizer(const tokenizer& tokens, bool skip_special = true) noexcept
      : tokens_(&tokens), skip_special_(skip_special), at_start_(tokens.strips_first_space()) {}

  /// The text that became certain with this token; often empty. Throws std::out_of_range for an id outside the
  /// vocabulary, and is then unchanged.
  std::string push(token id);

  /// What is held back, as U+FFFD since no more will come. Afterwards a new text begins.
  std::string flush();

 private:
  const tokenizer* tokens_;
  std::string held_;
  bool skip_special_;
  bool at_start_;
};

}  // namespace cogen::text
