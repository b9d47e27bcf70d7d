#pragma once

#include "answers/grammar/ebnf.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cogen::grammar {

/// Items in commas of which some are of a wanted kind. An expression of an item is none where it allows nothing.
struct item_sequence {
  using item_at = std::function<std::optional<std::string>(std::size_t index)>;

  item_at item;                 ///< one that need not be wanted; where `times` has an end, one that is not
  item_at wanted;               ///< one that is
  std::size_t own_schemas = 0;  ///< how many items have expressions of their own; those behind them are alike
  repetition count = {};        ///< of all items
  repetition times = {};        ///< of wanted ones
};

/// Adds its rules, and returns the name of the first one; none if it allows nothing. Throws grammar_error for bounds
/// that take too many rules.
std::optional<std::string> add_item_sequence(const item_sequence& items, rule_list& rules);

/// Items among which there has to be one of each of a few kinds.
struct item_kinds {
  /// One that is of some kinds, a bit each, besides what else it is; none if it allows nothing.
  std::function<std::optional<std::string>(std::size_t index, std::uint32_t kinds)> item;
  std::size_t kinds = 0;
  std::size_t own_schemas = 0;  ///< how many items have expressions of their own
  repetition count = {};
};

inline constexpr std::size_t max_item_kinds = 4;

/// Adds its rules, and returns the name of the first one, as above.
std::optional<std::string> add_item_kinds(const item_kinds& items, rule_list& rules);

inline constexpr std::size_t max_items_in_any_order = 5;

/// The same for a few items that are listed, of which none comes twice.
std::optional<std::string> add_distinct_items(const std::vector<std::string>& items, repetition count,
                                              rule_list& rules);

}  // namespace cogen::grammar
