#pragma once

#include "answers/grammar/regex_syntax.hpp"

#include <optional>
#include <vector>

namespace cogen::grammar {

/// The texts that each of `wanted` matches as a whole, and none of `excluded`; none if there are no such texts. Throws
/// grammar_error where that takes too many states.
std::optional<regex_node> intersection(const std::vector<regex_node>& wanted, const std::vector<regex_node>& excluded);

}  // namespace cogen::grammar
