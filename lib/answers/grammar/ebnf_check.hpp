#pragma once

#include <cstddef>
#include <string_view>

namespace cogen::grammar {

/// How large a grammar may be.
struct ebnf_limits {
  std::size_t bytes = 8 << 20;
  std::size_t states = 200'000;  ///< characters, classes and names, repetitions written out
  int depth = 256;               ///< of parentheses
  bool patterns = false;         ///< Regex("...") is allowed, whose size its writer limits, and Token(id)
};

/// Throws grammar_error for a grammar that is malformed or too large, and for one with a rule that no text ends.
void check_ebnf(std::string_view rules, const ebnf_limits& limits = {});

}  // namespace cogen::grammar
