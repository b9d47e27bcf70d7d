#pragma once

#include "formats/text/range.hpp"
#include "formats/text/text_budget.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// A regular expression as tokenizer files write them (Oniguruma's Ruby syntax), run by PCRE2.
/// `\s` and `\w` mean Unicode's white space and word characters. Immutable and safe to share between threads.
class pattern {
 public:
  static constexpr std::size_t max_source_bytes = 16384;

  /// Throws std::invalid_argument with the pattern and the place where it is malformed.
  explicit pattern(std::string_view source);

  /// The matches in order; they do not overlap, and an empty one is not where the one before it ends. The text must be
  /// valid UTF-8; an empty one has none.
  /// Throws std::runtime_error where a match takes too many steps, too much memory or depth, or all of them more steps
  /// than the budget, which is that of the text unless one is given.
  std::vector<range> matches(std::string_view text, text_budget& budget) const;
  std::vector<range> matches(std::string_view text) const;

 private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

/// The pattern in PCRE2's syntax. Throws std::invalid_argument for constructs that have no equivalent there.
std::string pcre_spelling(std::string_view source);

/// A pattern that matches exactly this text.
std::string escaped_pattern(std::string_view literal);

}  // namespace cogen::text
