#pragma once

#include "formats/text/charsmap.hpp"
#include "formats/text/replacing.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen::text {

/// The steps that a text goes through before it is split. Immutable.
class normalizer {
 public:
  normalizer() = default;

  /// Throws std::invalid_argument for a pattern that does not compile, or a malformed table of replacements.
  explicit normalizer(const std::vector<normalizer_step>& steps);

  bool empty() const noexcept { return steps_.empty(); }

  /// The text must be valid UTF-8. Throws what pattern::matches and text_budget throw.
  std::string operator()(std::string_view text, text_budget& budget) const;

 private:
  using step = std::variant<unicode_form, character_filter, charsmap, replacement, prepend_step, strip_step>;

  std::vector<step> steps_;
};

}  // namespace cogen::text
