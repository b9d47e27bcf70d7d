#pragma once

#include "answers/grammar/ebnf.hpp"
#include "answers/grammar/regex_syntax.hpp"

#include <cstdint>
#include <string>

namespace cogen::grammar {

/// The node as a pattern, in the part of the syntax that XGrammar understands as we do. Two that have one have the same
/// matches.
std::string syntax_of(const regex_node& node);

/// How many characters it has, repetitions written out as far as they are not counted.
std::uint64_t states_of(const regex_node& node);

/// The expression of EBNF. What repeats often is written by rules. Throws grammar_error for a class that allows no
/// character, and for too many states.
std::string ebnf_of(const regex_node& node, rule_list& rules);

}  // namespace cogen::grammar
