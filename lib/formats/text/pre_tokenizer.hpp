#pragma once

#include "formats/text/pattern.hpp"
#include "formats/text/range.hpp"
#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen::text {

/// A text, and the parts of it within which tokens are looked for.
struct split_text {
  std::string text;
  std::vector<range> pieces;
};

/// Cuts a text into pieces that no token crosses. Immutable.
class pre_tokenizer {
 public:
  pre_tokenizer() = default;

  /// Throws std::invalid_argument for a pattern that does not compile.
  explicit pre_tokenizer(const std::vector<pre_tokenizer_step>& steps);

  /// The text must be valid UTF-8; `is_first` says that it begins the input. Throws what pattern::matches
  /// and text_budget throw.
  split_text operator()(std::string text, bool is_first, text_budget& budget) const;

 private:
  struct pattern_split {
    pattern delimiter;
    split_behavior behavior;
    bool invert;
  };
  struct byte_mapping {
    bool add_prefix_space;
    std::vector<pattern_split> splits;  // none or one
  };
  using step = std::variant<pattern_split, digits_step, digit_groups_step, byte_mapping, metaspace_step>;

  static split_text apply(const pattern_split& split, split_text parts, text_budget& budget);
  static split_text apply(const digits_step& digits, split_text parts);
  static split_text apply(const digit_groups_step& groups, split_text parts);
  static split_text apply(const byte_mapping& mapping, split_text parts, text_budget& budget);

  std::vector<step> steps_;
};

}  // namespace cogen::text
