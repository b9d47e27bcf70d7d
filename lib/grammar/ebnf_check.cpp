#include "grammar/ebnf_check.hpp"

#include "grammar/ebnf.hpp"
#include "grammar/grammar_error.hpp"
#include "json/printable.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cogen::grammar {
namespace {

constexpr std::uint64_t max_repetitions = 100'000;

/// A part of a rule: what has to come to an end for it to end.
struct expression {
  enum class kind : std::uint8_t { text, name, sequence, alternatives, optional };

  kind type = kind::sequence;
  std::uint64_t states = 0;
  std::string_view name = {};  ///< of another rule
  std::vector<expression> parts = {};
};

using part_kind = expression::kind;
using rule_map = std::map<std::string_view, expression>;

class ebnf_parser {
 public:
  ebnf_parser(std::string_view text, const ebnf_limits& limits) : rest_(text), limits_(limits) {}

  rule_map run() {
    rule_map rules;
    for (skip_space(); !rest_.empty(); skip_space()) {
      if (rest_.front() == ')') throw grammar_error("the grammar has a ) without its (");
      const auto name = take_name();
      take_capture();
      skip_space();
      if (name.empty() || !take("::=")) refuse("has no rule, written name ::= ..., where one is expected: ");
      if (!rules.emplace(name, alternatives()).second)
        throw grammar_error("the grammar has two rules " + cogen::json::in_quotes(name));
    }
    return rules;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw grammar_error("the grammar " + what + cogen::json::in_quotes(rest_.substr(0, 20)));
  }

  bool take(std::string_view beginning) {
    if (!rest_.starts_with(beginning)) return false;
    rest_.remove_prefix(beginning.size());
    return true;
  }

  void skip_space() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') rest_.remove_prefix(std::min(rest_.size(), rest_.find('\n')));
      const auto space = std::min(rest_.size(), rest_.find_first_not_of(" \t\r\n"));
      rest_.remove_prefix(space);
      if (!rest_.starts_with('#')) return;
    }
  }

  void take_capture() {
    if (!limits_.patterns || !take("[capture=\"")) return;
    quoted('"');
    if (!take("]")) refuse("has a capture without its ] at ");
  }

  static bool begins_name(char byte) { return std::isalpha(static_cast<unsigned char>(byte)) || byte == '_'; }

  std::string_view take_name() {
    if (rest_.empty() || !begins_name(rest_.front())) return {};
    std::size_t length = 1;
    while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) ||
                                     std::string_view("_-.").find(rest_[length]) != std::string_view::npos))
      ++length;
    const auto name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }

  expression alternatives() {
    expression all{.type = part_kind::alternatives};
    do {
      add(all, sequence());
    } while (take("|"));
    return all;
  }

  expression sequence() {
    expression all;
    while (auto part = element()) add(all, std::move(*part));
    return all;
  }

  void add(expression& whole, expression part) const {
    whole.states += part.states;
    check_states(whole.states);
    whole.parts.push_back(std::move(part));
  }

  void check_states(std::uint64_t states) const {
    if (states > limits_.states)
      throw grammar_error("the grammar expands to more than " + std::to_string(limits_.states) + " states");
  }

  /// None at the end of a sequence, or where another rule begins.
  std::optional<expression> element() {
    skip_space();
    if (rest_.empty() || rest_.front() == '|' || rest_.front() == ')') return std::nullopt;
    if (take("\"")) return repeat_of({.type = part_kind::text, .states = quoted('"')});
    if (take("[")) return repeat_of({.type = part_kind::text, .states = std::min<std::uint64_t>(1, quoted(']'))});
    if (take("(")) return repeat_of(group());
    const auto before = rest_;
    const auto name = take_name();
    if (name.empty()) refuse("is malformed at ");
    if (limits_.patterns && name == "Regex" && take("(\"")) return pattern();
    if (limits_.patterns && name == "Token" && take("(")) return control_token();
    if (rest_.starts_with('(') || (rest_.starts_with('[') && !(limits_.patterns && rest_.starts_with("[capture="))))
      throw grammar_error("the grammar uses " + cogen::json::in_quotes(name) +
                          " with arguments, which is not supported");
    skip_space();
    if (rest_.starts_with("::=") || (limits_.patterns && rest_.starts_with("[capture="))) {
      rest_ = before;
      return std::nullopt;
    }
    return repeat_of({.type = part_kind::name, .states = 1, .name = name});
  }

  /// Skips a literal or a class, and returns how many characters are in it.
  std::uint64_t quoted(char end) {
    std::uint64_t length = 0;
    for (; !rest_.empty() && rest_.front() != end && rest_.front() != '\n'; ++length)
      rest_.remove_prefix(std::min<std::size_t>(rest_.size(), rest_.front() == '\\' ? 2 : 1));
    if (!take(std::string_view(&end, 1)))
      throw grammar_error(std::string("the grammar has a literal or a class without its ") + end);
    return length;
  }

  expression pattern() {
    expression part{.type = part_kind::text, .states = quoted('"')};
    if (!take(")")) refuse("has a pattern without its ) at ");
    return part;
  }

  expression control_token() {
    rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of("0123456789")));
    if (!take(")")) refuse("has a token without its ) at ");
    return {.type = part_kind::text, .states = 1};
  }

  expression group() {
    if (++depth_ > limits_.depth)
      throw grammar_error("the grammar nests more than " + std::to_string(limits_.depth) + " parentheses");
    auto inner = alternatives();
    --depth_;
    if (!take(")")) throw grammar_error("the grammar has a ( without its )");
    return inner;
  }

  expression repeat_of(expression part) {
    skip_space();
    if (take("+")) return part;
    if (take("?") || take("*")) return optional(std::move(part));
    if (!take("{")) return part;
    const auto least = number();
    const auto most = take(",") ? std::max(least, number()) : least;
    if (!take("}")) throw grammar_error("the grammar has a { without its }");
    check_states(part.states * std::max<std::uint64_t>(1, most));
    part.states *= std::max<std::uint64_t>(1, most);
    return least == 0 ? optional(std::move(part)) : part;
  }

  static expression optional(expression part) {
    const auto states = part.states;
    return {.type = part_kind::optional, .states = states, .parts = {std::move(part)}};
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (skip_space(); !rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_.front()));
         rest_.remove_prefix(1)) {
      value = value * 10 + static_cast<std::uint64_t>(rest_.front() - '0');
      if (value > max_repetitions)
        throw grammar_error("the grammar repeats a part more than " + std::to_string(max_repetitions) + " times");
    }
    skip_space();
    return value;
  }

  std::string_view rest_;
  const ebnf_limits& limits_;
  int depth_ = 0;
};

using names = std::set<std::string_view>;

bool ends(const expression& part, const names& ending) {
  const auto part_ends = [&](const expression& each) { return ends(each, ending); };
  switch (part.type) {
    case part_kind::text:
    case part_kind::optional:
      return true;
    case part_kind::name:
      return ending.contains(part.name);
    case part_kind::sequence:
      return std::ranges::all_of(part.parts, part_ends);
    case part_kind::alternatives:
      return std::ranges::any_of(part.parts, part_ends);
  }
  return true;
}

void check_names(const expression& part, const rule_map& rules) {
  if (part.type == part_kind::name && !rules.contains(part.name))
    throw grammar_error("the grammar has no rule " + cogen::json::in_quotes(part.name));
  for (const auto& each : part.parts) check_names(each, rules);
}

/// Each pass finds the rules that end by way of those already found.
void check_ends(const rule_map& rules) {
  names ending;
  for (std::size_t before = ~std::size_t{0}; before != ending.size();) {
    before = ending.size();
    for (const auto& [name, rule] : rules)
      if (ends(rule, ending)) ending.insert(name);
  }
  for (const auto& [name, rule] : rules)
    if (!ending.contains(name))
      throw grammar_error("the rule " + cogen::json::in_quotes(name) +
                          " of the grammar has no end, and allows nothing");
}

}  // namespace

void check_ebnf(std::string_view text, const ebnf_limits& limits) {
  if (text.size() > limits.bytes)
    throw grammar_error("a grammar of " + std::to_string(text.size()) + " bytes exceeds the limit of " +
                        std::to_string(limits.bytes));
  const auto rules = ebnf_parser(text, limits).run();
  if (!rules.contains("root")) throw grammar_error("the grammar has no rule \"root\"");
  std::uint64_t states = 0;
  for (const auto& [name, rule] : rules) {
    check_names(rule, rules);
    states += rule.states;
    if (states > limits.states)
      throw grammar_error("the grammar expands to more than " + std::to_string(limits.states) + " states");
  }
  check_ends(rules);
}

}  // namespace cogen::grammar
