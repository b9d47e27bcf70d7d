#pragma once

#include "answers/grammar/regex_syntax.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace cogen::grammar {

/// What ends a text without quotes.
struct text_end {
  std::string_view spelling;  ///< its characters, which the text does not hold
  std::string expression;     ///< of EBNF
};

/// Adds the rules of texts that match, as a model writes them without quotes, with the end behind them, and returns the
/// expression. One end of a line at the beginning and one before the end are not part of a text. Throws grammar_error
/// if there is no such text, and for too many states.
std::string add_unquoted_text(const regex_node& texts, const text_end& end, rule_list& rules);

}  // namespace cogen::grammar
