#pragma once

#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::grammar {

/// Finds texts in what tokens spell, and knows the tokens that go on behind one. Immutable.
class text_trigger {
 public:
  using control_tokens = std::map<std::string, token, std::less<>>;

  /// A text that was found.
  struct match {
    std::size_t which = 0;
    std::size_t after = 0;  ///< bytes of the last token that come behind it
  };

  /// A token that completes a text.
  struct completion {
    token id = 0;
    match found = {};
  };

  /// Of the control tokens only these spell something. The tokenizer must outlive this.
  text_trigger(std::vector<std::string> texts, const text::tokenizer& tokens, const control_tokens& spelled);

  /// Goes on by a token. `tail`, at first empty, is the longest beginning of a text that what came before ends with;
  /// after a match it is empty.
  std::optional<match> step(std::string& tail, token next) const;

  /// The tokens that complete a text after this tail.
  std::vector<completion> completions(std::string_view tail) const;

  const std::string& text(std::size_t which) const { return texts_[which]; }
  std::string_view spelling(token id) const;

 private:
  void add_completions(token id, std::string_view spelled);
  std::optional<match> find(std::string_view text) const;

  std::vector<std::string> texts_;
  const text::tokenizer* tokens_;
  std::map<token, std::string> spelled_;
  /// By the text, and how many of its bytes came before the token.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<completion>> completions_;
};

}  // namespace cogen::grammar
