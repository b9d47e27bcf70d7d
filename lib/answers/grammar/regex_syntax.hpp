#pragma once

#include "answers/grammar/character_set.hpp"
#include "answers/grammar/ebnf.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// A regular expression without anchors.
struct regex_node {
  enum class kind : std::uint8_t { set, sequence, alternatives, repeat };

  kind type = kind::sequence;
  character_set set = {};              ///< of a set
  std::vector<regex_node> parts = {};  ///< of the others; a repeat has one
  repetition times = {};               ///< of a repeat
};

regex_node of_set(character_set set);
regex_node of_text(std::string_view utf8);
regex_node sequence_of(std::vector<regex_node> parts);
regex_node any_of(std::vector<regex_node> parts);  ///< of at least one
regex_node repeat_of(regex_node part, repetition times);

/// What a pattern has to match of a text.
enum class regex_match : std::uint8_t { whole, search };

/// Reads the syntax of ECMAScript with its flag `u`. A pattern that may match anywhere gets what stands around the
/// match. Throws grammar_error, naming what is malformed, has no counterpart in a grammar, or exceeds a limit.
regex_node parse_regex(std::string_view pattern, regex_match match);

/// Whether the whole text matches.
bool matches(const regex_node& node, std::string_view utf8);

/// The numbers of characters that matches have; most is an upper bound.
repetition lengths_of(const regex_node& node);

/// The same texts between the quotes of a JSON string, each character spelled in one way.
regex_node in_json(const regex_node& node);

// Products and sums of counts; what is too large is unlimited.
std::uint64_t times_at_most(std::uint64_t left, std::uint64_t right);
std::uint64_t plus_at_most(std::uint64_t left, std::uint64_t right);

}  // namespace cogen::grammar
