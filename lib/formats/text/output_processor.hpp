#pragma once

#include "formats/text/stop_matcher.hpp"

#include <cogen/text/tokenizer.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

namespace cogen::text {

/// Turns sampled tokens into text for the client: complete characters only, and no part of a stop string.
class output_processor {
 public:
  /// If `tokens` is null, all text is empty. Of control tokens only `shown` ones have text; what holds them must
  /// outlive this.
  output_processor(const tokenizer* tokens, stop_matcher stops, std::span<const token> shown = {})
      : tokens_(tokens), shown_(shown), stops_(std::move(stops)) {
    if (tokens) characters_.emplace(*tokens);
  }

  struct cut {
    std::string text;
    bool stopped = false;
  };

  /// The text of the next token of the prompt, which the generated text continues. No stop string is looked for in it.
  std::string echo(token id) { return characters_ ? characters_->push(id) : std::string(); }

  cut push(token id) { return characters_ ? pass(characters_of(id)) : cut{}; }

  /// The text held back so far, after the last token.
  cut flush() {
    if (!characters_) return {};
    auto last = pass(characters_->flush());
    if (!last.stopped) last.text += stops_.flush();
    return last;
  }

 private:
  std::string characters_of(token id) {
    if (std::ranges::find(shown_, id) == shown_.end()) return characters_->push(id);
    return characters_->flush() + tokens_->token_text(id);
  }

  cut pass(const std::string& characters) {
    auto result = stops_.push(characters);
    return {std::move(result.text), result.matched.has_value()};
  }

  const tokenizer* tokens_;
  std::span<const token> shown_;
  std::optional<detokenizer> characters_;
  stop_matcher stops_;
};

}  // namespace cogen::text
