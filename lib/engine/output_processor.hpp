#pragma once

#include <cogen/text/detokenizer.hpp>
#include <cogen/text/stop_matcher.hpp>

#include <optional>

namespace cogen::detail {

/// Turns tokens into text that may be shown: whole characters, and nothing of a stop string.
class output_processor {
 public:
  /// Without a tokenizer there is never any text.
  output_processor(const text::tokenizer* tokens, std::span<const std::string> stops) : stops_(stops) {
    if (tokens) characters_.emplace(*tokens);
  }

  struct cut {
    std::string text;
    bool stopped = false;
  };

  cut push(token id) { return characters_ ? pass(characters_->push(id)) : cut{}; }

  /// What was held back, now that no more will come.
  cut flush() {
    if (!characters_) return {};
    auto last = pass(characters_->flush());
    if (!last.stopped) last.text += stops_.flush();
    return last;
  }

 private:
  cut pass(const std::string& characters) {
    auto result = stops_.push(characters);
    return {std::move(result.text), result.matched.has_value()};
  }

  std::optional<text::detokenizer> characters_;
  text::stop_matcher stops_;
};

}  // namespace cogen::detail
