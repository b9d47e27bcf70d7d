#pragma once

#include <cogen/request.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace cogen::detail {

/// Whether a request says which tokens may be generated.
inline bool filters_tokens(const request& request) {
  return !request.bad_words.empty() || !request.allowed_token_ids.empty();
}

/// Checks what can be checked without tokenizing. Throws std::invalid_argument naming thing, value and limit.
void check_token_filter(const request& request, int vocabulary);

/// Forbids what the bad words of a request would be, and tokens that it does not allow. Immutable.
class token_filter {
 public:
  /// Throws std::invalid_argument where words have no tokenizer, and where no token is left.
  token_filter(const request& request, const text::tokenizer* tokens, int vocabulary);

  /// After the tokens `generated`.
  void apply(std::span<const token> generated, std::span<float> logits) const noexcept;

 private:
  void add_word(std::string_view word, const text::tokenizer& tokens);
  void add(token_ids word);

  std::vector<bool> forbidden_;   // by token; always
  std::vector<token_ids> words_;  // of several tokens, whose last one is forbidden after the others
};

/// The sampling parameters of the request, with a filter where it has one, after a prompt of so many tokens.
std::shared_ptr<const sampling_params> filtered_sampling(const std::shared_ptr<const request>& request,
                                                         std::size_t prompt, const text::tokenizer* tokens,
                                                         int vocabulary);

}  // namespace cogen::detail
