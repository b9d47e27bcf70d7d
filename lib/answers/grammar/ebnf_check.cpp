#include "answers/grammar/ebnf_check.hpp"

#include "answers/grammar/ebnf.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/steps.hpp"
#include "formats/json/printable.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cogen::grammar {
namespace {

constexpr std::uint64_t max_repetitions = 100'000;

/// A guide takes a byte for each state at each rule that it comes through.
constexpr std::uint64_t max_rule_states = std::uint64_t{1} << 28;

/// XGrammar follows rules of nothing but a repetition of another one by recursion.
constexpr std::size_t max_chain = 256;

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

  /// Rules that parentheses and repetitions become.
  std::uint64_t made_rules() const noexcept { return made_rules_; }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw grammar_error("the grammar " + problem + cogen::json::in_quotes(rest_.substr(0, 20)));
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
    count_step();
    expression result{.type = part_kind::alternatives};
    do {
      add(result, sequence());
    } while (take("|"));
    return result;
  }

  expression sequence() {
    expression result;
    while (auto part = element()) add(result, std::move(*part));
    return result;
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
    count_step();
    skip_space();
    if (rest_.empty() || rest_.front() == '|' || rest_.front() == ')') return std::nullopt;
    if (take("\"")) return repeat_of({.type = part_kind::text, .states = quoted('"')});
    if (take("[")) return repeat_of(character_class());
    if (take("(")) return repeat_of(group());
    const auto start = rest_;
    const auto name = take_name();
    if (name.empty()) refuse("is malformed at ");
    if (limits_.patterns && name == "Regex" && take("(\"")) return pattern();
    if (limits_.patterns && name == "Token" && take("(")) return control_token();
    if (rest_.starts_with('(') || (rest_.starts_with('[') && !(limits_.patterns && rest_.starts_with("[capture="))))
      throw grammar_error("the grammar uses " + cogen::json::in_quotes(name) +
                          " with arguments, which is not supported");
    skip_space();
    if (rest_.starts_with("::=") || (limits_.patterns && rest_.starts_with("[capture="))) {
      rest_ = start;
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

  /// An empty one allows no character, and never ends.
  expression character_class() {
    const bool has_characters = quoted(']') > 0;
    return {.type = has_characters ? part_kind::text : part_kind::alternatives, .states = has_characters ? 1U : 0U};
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
    ++made_rules_;
    --depth_;
    if (!take(")")) throw grammar_error("the grammar has a ( without its )");
    return inner;
  }

  expression repeat_of(expression part) {
    skip_space();
    made_rules_ +=
        static_cast<std::uint64_t>(rest_.starts_with('+') || rest_.starts_with('?') || rest_.starts_with('*'));
    if (take("+")) return part;
    if (take("?") || take("*")) return optional(std::move(part));
    if (!take("{")) return part;
    const auto min = number();
    const auto max = take(",") ? take_max_repetitions(min) : min;
    made_rules_ += max - min + 1;
    if (!take("}")) throw grammar_error("the grammar has a { without its }");
    check_states(part.states * std::max<std::uint64_t>(1, max));
    part.states *= std::max<std::uint64_t>(1, max);
    return min == 0 ? optional(std::move(part)) : part;
  }

  /// After the comma; as many as the least where there is none.
  std::uint64_t take_max_repetitions(std::uint64_t min) {
    skip_space();
    if (rest_.starts_with('}')) return min;
    const auto max = number();
    if (max < min)
      throw grammar_error("the grammar repeats a part {" + std::to_string(min) + "," + std::to_string(max) +
                          "} times, and so never");
    return max;
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
  std::uint64_t made_rules_ = 0;
};

void check_names(const expression& part, const rule_map& rules) {
  if (part.type == part_kind::name && !rules.contains(part.name))
    throw grammar_error("the grammar has no rule " + cogen::json::in_quotes(part.name));
  for (const auto& each : part.parts) check_names(each, rules);
}

/// Finds the rules that come to an end, from the texts upwards.
class end_finder {
 public:
  explicit end_finder(const rule_map& rules) {
    for (const auto& [name, rule] : rules) {
      names_.push_back(name);
      add(rule, {.rule = static_cast<std::int64_t>(names_.size()) - 1});
    }
  }

  /// The first rule without an end; none if each has one.
  std::optional<std::string_view> run() {
    std::vector<bool> ends(names_.size());
    while (!ended_.empty()) {
      const auto current = ended_.back();
      ended_.pop_back();
      if (current.node >= 0) {
        finish_part_of(static_cast<std::size_t>(current.node));
      } else if (!ends[static_cast<std::size_t>(current.rule)]) {
        ends[static_cast<std::size_t>(current.rule)] = true;
        const auto waiting = waiting_.find(names_[static_cast<std::size_t>(current.rule)]);
        if (waiting != waiting_.end()) ended_.insert(ended_.end(), waiting->second.begin(), waiting->second.end());
      }
    }
    const auto found = std::ranges::find(ends, false);
    if (found == ends.end()) return std::nullopt;
    return names_[static_cast<std::size_t>(found - ends.begin())];
  }

 private:
  /// What a part belongs to: a whole rule, or a node.
  struct whole {
    std::int64_t rule = -1;
    std::int64_t node = -1;
  };

  struct node {
    std::size_t missing;  ///< parts that have to end for it to end
    whole parent;
  };

  void add(const expression& part, whole parent) {
    count_step();
    if (part.type == part_kind::name) {
      waiting_[part.name].push_back(parent);
    } else if (part.type == part_kind::text || part.type == part_kind::optional ||
               (part.type == part_kind::sequence && part.parts.empty())) {
      ended_.push_back(parent);
    } else {
      nodes_.push_back({part.type == part_kind::alternatives ? 1 : part.parts.size(), parent});
      const whole here{.node = static_cast<std::int64_t>(nodes_.size()) - 1};
      for (const auto& each : part.parts) add(each, here);
    }
  }

  void finish_part_of(std::size_t index) {
    auto& [missing, parent] = nodes_[index];
    if (missing > 0 && --missing == 0) ended_.push_back(parent);
  }

  std::vector<std::string_view> names_;
  std::vector<node> nodes_;
  std::vector<whole> ended_;  // of which a part has ended
  std::map<std::string_view, std::vector<whole>> waiting_;
};

void check_ends(const rule_map& rules) {
  if (const auto endless = end_finder(rules).run())
    throw grammar_error("the rule " + cogen::json::in_quotes(*endless) +
                        " of the grammar has no end, and allows nothing");
}

/// The rule that is all there is in a part; none if there is more.
std::string_view only_name(const expression& part) {
  if (part.type == part_kind::name) return part.name;
  return part.parts.size() == 1 ? only_name(part.parts.front()) : std::string_view();
}

void check_chains(const rule_map& rules) {
  std::map<std::string_view, std::string_view> only;
  for (const auto& [name, rule] : rules)
    if (const auto next = only_name(rule); !next.empty()) only.emplace(name, next);
  std::map<std::string_view, std::size_t> lengths;  // of the chains that begin there
  for (const auto& each : only) {
    std::vector<std::string_view> chain;
    auto link = only.find(each.first);
    for (; link != only.end() && !lengths.contains(link->first) && chain.size() <= max_chain;
         link = only.find(link->second))
      chain.push_back(link->first);
    auto length = link != only.end() && lengths.contains(link->first) ? lengths[link->first] : 0;
    if (chain.size() + length > max_chain)
      throw grammar_error("the rule " + cogen::json::in_quotes(each.first) +
                          " of the grammar leads through more than " + std::to_string(max_chain) +
                          " rules of a single part");
    for (auto name = chain.rbegin(); name != chain.rend(); ++name) lengths[*name] = ++length;
  }
}

}  // namespace

void check_ebnf(std::string_view text, const ebnf_limits& limits) {
  if (text.size() > limits.bytes)
    throw grammar_error("a grammar of " + std::to_string(text.size()) + " bytes exceeds the limit of " +
                        std::to_string(limits.bytes));
  ebnf_parser parser(text, limits);
  const auto rules = parser.run();
  if (!rules.contains("root")) throw grammar_error("the grammar has no rule \"root\"");
  std::uint64_t states = 0;
  for (const auto& [name, rule] : rules) {
    check_names(rule, rules);
    states += rule.states;
    if (states > limits.states)
      throw grammar_error("the grammar expands to more than " + std::to_string(limits.states) + " states");
  }
  check_ends(rules);
  check_chains(rules);
  const auto all_rules = rules.size() + parser.made_rules();
  if (all_rules * states > max_rule_states)
    throw grammar_error("the grammar has " + std::to_string(all_rules) + " rules and " + std::to_string(states) +
                        " states; their product exceeds the limit of " + std::to_string(max_rule_states));
}

}  // namespace cogen::grammar
