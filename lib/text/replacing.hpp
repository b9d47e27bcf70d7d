#pragma once

#include "text/pattern.hpp"
#include "text/tokenizer_spec.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cogen::text {

/// The text with `to` in place of each `from`, from left to right.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// A replace_step that is ready for use. Immutable.
class replacement {
 public:
  /// Throws std::invalid_argument for a pattern that does not compile.
  explicit replacement(const replace_step& step);

  /// The text must be valid UTF-8. Throws what pattern::matches throws.
  std::string operator()(std::string_view text) const;

 private:
  replace_step step_;
  std::optional<pattern> regex_;
};

}  // namespace cogen::text
