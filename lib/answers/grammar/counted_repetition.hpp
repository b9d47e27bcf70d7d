#pragma once

#include "answers/grammar/ebnf.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace cogen::grammar {

/// The most repetitions that the backend is asked to count at once: more of them fail in XGrammar, or take it long.
inline constexpr std::uint64_t max_repetitions_at_once = 128;

/// Writes a repetition by rules of which none repeats anything more than `at_once` times: they count as digits of a
/// number do. `write` writes the repeated part for such times.
std::string counted(const std::function<std::string(repetition)>& write, repetition times, std::uint64_t at_once,
                    rule_list& rules);

/// The same of an expression, as it is written where its times are few.
std::string counted(const std::string& part, repetition times, rule_list& rules);

}  // namespace cogen::grammar
