#pragma once

#include "formats/text/text_budget.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {

/// SentencePiece's precompiled normalizer: replacements by string, in a double array (Darts; Aoe 1989). Immutable.
class charsmap {
 public:
  /// Throws std::invalid_argument for a table that is cut short or whose replacements are not valid UTF-8.
  explicit charsmap(const charsmap_step& step);

  /// The text must be valid UTF-8, and so is the result. Throws what text_budget throws.
  std::string operator()(std::string_view text, text_budget& budget) const;

 private:
  struct match {
    std::size_t length;
    std::uint32_t content;  // where it begins
  };

  std::string by_longest_prefix(std::string_view text, text_budget& budget) const;
  std::string by_grapheme(std::string_view text, text_budget& budget) const;
  void append_grapheme(std::string& output, std::string_view grapheme, text_budget& budget) const;
  std::optional<match> longest_prefix(std::string_view text, text_budget& budget) const;
  std::optional<match> shortest_prefix(std::string_view text, text_budget& budget) const;
  template <typename Found>
  void each_prefix(std::string_view text, text_budget& budget, Found&& found) const;
  bool is_content(std::uint32_t offset) const noexcept;

  std::vector<std::uint32_t> units_;
  std::string contents_;  // each ends with a zero
  charsmap_step::matching mode_;
};

}  // namespace cogen::text
