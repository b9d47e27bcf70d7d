#pragma once

#include "cogen/text/tokenizer.hpp"
#include "cogen/token.hpp"

#include <string>
#include <string_view>

namespace cogen::text {

/// Turns tokens into text as they arrive. The pieces together are the text of `tokenizer::decode`, and each is valid
/// UTF-8: an incomplete character (at most three bytes) is held back until the rest arrives.
///
/// The tokenizer must outlive it. Not thread-safe. A copy includes what is held back, so a fork can continue from it.
class detokenizer {
 public:
  /// Leaves control tokens out of the text if `skip_special`.
  explicit detokenizer(const tokenizer& tokens, bool skip_special = true) noexcept
      : tokens_(&tokens), skip_special_(skip_special), at_start_(tokens.strips_first_space()) {}

  /// The text that this token completes; often empty. Throws std::out_of_range for an id outside the vocabulary, and is
  /// then unchanged.
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
