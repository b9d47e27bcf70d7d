#include "answers/grammar/regex_ebnf.hpp"

#include "answers/grammar/counted_repetition.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/steps.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;

constexpr std::uint64_t max_pattern_states = 4000;
constexpr std::uint64_t max_states_at_once = 512;

std::string syntax_of(char32_t character) {
  std::string spelled;
  const bool is_plain = character >= 0x80 || word_characters.contains(character);
  if (character < 0x20 || character == 0x7F) {
    constexpr std::string_view hexadecimal = "0123456789abcdef";
    return std::string("\\x") + hexadecimal[character / 16] + hexadecimal[character % 16];
  }
  if (!is_plain) spelled = "\\";
  text::append_utf8(spelled, character);
  return spelled;
}

std::string syntax_of(const character_set& set) {
  if (set.empty()) throw grammar_error("a pattern has a class that allows no character");
  if (set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last)
    return syntax_of(set.ranges()[0].first);
  std::string ranges;
  for (const auto& [first, last] : set.ranges()) {
    ranges += syntax_of(first);
    if (last > first) ranges += "-" + syntax_of(last);
  }
  return "[" + ranges + "]";
}

/// XGrammar's `?` lets `(?:ab+)?` match `b`, and its `{n,}` joins only one end of what it repeats.
std::string repeated_syntax(const std::string& part, repetition times) {
  const auto group = "(?:" + part + ")";
  const auto count = [](std::uint64_t number) { return std::to_string(number); };
  if (times == repetition{0, 1}) return "(?:|" + part + ")";
  if (times == repetition{0, repetition::unlimited}) return group + "*";
  if (times == repetition{1, repetition::unlimited}) return group + "+";
  if (times.max == repetition::unlimited) return group + "{" + count(times.min) + "}" + group + "*";
  return group + "{" + count(times.min) + "," + count(times.max) + "}";
}

}  // namespace

std::string syntax_of(const regex_node& node) {
  if (node.type == kind::set) return syntax_of(node.set);
  std::string syntax;
  for (const auto& part : node.parts) {
    if (node.type == kind::alternatives && &part != &node.parts.front()) syntax += "|";
    syntax += syntax_of(part);
  }
  if (node.type == kind::repeat) return repeated_syntax(syntax, node.times);
  return node.type == kind::alternatives ? "(?:" + syntax + ")" : syntax;
}

namespace {

std::uint64_t written_out(repetition times) { return times.max == repetition::unlimited ? times.min : times.max; }

bool is_counted(const regex_node& node) {
  if (node.type == kind::repeat && written_out(node.times) > max_repetitions_at_once) return true;
  return std::ranges::any_of(node.parts, is_counted);
}

std::uint64_t repeated_at_once(std::uint64_t states) {
  return std::clamp<std::uint64_t>(max_states_at_once / std::max<std::uint64_t>(1, states), 2, max_repetitions_at_once);
}

}  // namespace

std::uint64_t states_of(const regex_node& node) {
  count_step();
  if (node.type == kind::set) return 1;
  std::uint64_t states = 0;
  for (const auto& part : node.parts) states = plus_at_most(states, states_of(part));
  if (node.type != kind::repeat || is_counted(node.parts.front())) return states;
  const auto times = written_out(node.times);
  return times_at_most(states,
                       times > max_repetitions_at_once ? repeated_at_once(states) : std::max<std::uint64_t>(times, 1));
}

namespace {

std::string pattern(const regex_node& node) { return "Regex(" + literal(syntax_of(node)) + ")"; }

std::string written(const regex_node& node, rule_list& rules);

std::string written_repeat(const regex_node& node, rule_list& rules) {
  const auto& part = node.parts.front();
  if (is_counted(part)) return counted(written(part, rules), node.times, rules);
  return counted([&](repetition few) { return pattern(repeat_of(part, few)); }, node.times,
                 repeated_at_once(states_of(part)), rules);
}

/// Parts that stand beside each other without a count among them stay one pattern.
std::string written_sequence(const regex_node& node, rule_list& rules) {
  std::vector<std::string> parts;
  regex_node plain;
  const auto close = [&] {
    if (!plain.parts.empty()) parts.push_back(pattern(plain));
    plain.parts.clear();
  };
  for (const auto& part : node.parts) {
    if (!is_counted(part)) {
      plain.parts.push_back(part);
      continue;
    }
    close();
    parts.push_back(written(part, rules));
  }
  close();
  return sequence(parts);
}

std::string written(const regex_node& node, rule_list& rules) {
  if (!is_counted(node)) return pattern(node);
  if (node.type == kind::repeat) return written_repeat(node, rules);
  if (node.type == kind::sequence) return written_sequence(node, rules);
  std::vector<std::string> parts;
  for (const auto& part : node.parts) parts.push_back(written(part, rules));
  return alternatives(parts);
}

}  // namespace

std::string ebnf_of(const regex_node& node, rule_list& rules) {
  if (states_of(node) > max_pattern_states)
    throw grammar_error("a pattern or a string expands to more than " + std::to_string(max_pattern_states) + " states");
  return written(node, rules);
}

}  // namespace cogen::grammar
