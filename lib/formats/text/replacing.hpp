#pragma once

#include "formats/text/pattern.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cogen::text {

/// The text with `replacement` in place of each `old`, from left to right. Throws what text_budget throws.
std::string replaced(std::string_view text, std::string_view old, std::string_view replacement, text_budget& budget);

/// A replace_step that is ready for use. Immutable.
class replacement {
 public:
  /// Throws std::invalid_argument for a pattern that does not compile.
  explicit replacement(const replace_step& step);

  /// The text must be valid UTF-8. Throws what pattern::matches and text_budget throw.
  std::string operator()(std::string_view text, text_budget& budget) const;

 private:
  replace_step step_;
  std::optional<pattern> regex_;
};

}  // namespace cogen::text
