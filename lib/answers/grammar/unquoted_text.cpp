#include "answers/grammar/unquoted_text.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_ebnf.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;

constexpr std::size_t few_states = 1024, max_text_states = 8192;

/// Of an automaton.
class too_many_states : public grammar_error {
 public:
  explicit too_many_states(std::size_t limit)
      : grammar_error("it has more than " + std::to_string(limit) + " states as a text without quotes") {}
};

std::u32string characters_of(std::string_view utf8) {
  std::u32string result;
  while (!utf8.empty()) {
    const auto next = text::first_character(utf8);
    result += next.code_point;
    utf8.remove_prefix(next.length);
  }
  return result;
}

/// What of the end a text has just spelled, and whether an end of a line is its last character. Texts that spell the
/// whole end are none.
class end_search {
 public:
  explicit end_search(std::u32string end) : end_(std::move(end)) {}

  static constexpr std::size_t begin = 0;                     ///< of a text after an end of a line
  std::size_t bare_begin() const { return end_.size(); }      ///< of another one, which begins with none
  std::size_t after_line() const { return end_.size() + 1; }  ///< whose last character was an end of a line

  /// Where each character leads; those that lead nowhere are left out.
  std::map<std::size_t, character_set> steps(std::size_t place, const character_set& characters) const {
    std::map<std::size_t, character_set> result;
    auto remaining = characters;
    auto special = end_;
    special += U'\n';
    for (const auto each : special) {
      if (!remaining.contains(each)) continue;
      remaining.remove({{each, each}});
      if (const auto target = step(place, each)) result[*target].add({each, each});
    }
    if (!remaining.empty()) result[begin].add(remaining);
    return result;
  }

 private:
  std::optional<std::size_t> step(std::size_t place, char32_t next) const {
    if (next == U'\n') return place == bare_begin() ? std::nullopt : std::optional(after_line());
    auto spelled = end_.substr(0, place < end_.size() ? place : 0) + next;
    while (!end_.starts_with(spelled)) spelled.erase(0, 1);
    if (spelled == end_) return std::nullopt;
    return spelled.size();
  }

  std::u32string end_;
};

/// The names of the rules of states, which are written once each.
class rule_names {
 public:
  explicit rule_names(rule_list& rules) : rules_(rules) {}

  std::string name_of(std::size_t state) {
    const auto [known, is_new] = names_.try_emplace(state);
    if (is_new) {
      known->second = rules_.new_name("plain");
      unwritten_.push_back(state);
    }
    return known->second;
  }

  /// A state whose rule has to be written.
  std::optional<std::size_t> take() {
    if (unwritten_.empty()) return std::nullopt;
    const auto next = unwritten_.back();
    unwritten_.pop_back();
    return next;
  }

 private:
  rule_list& rules_;
  std::map<std::size_t, std::string> names_;
  std::vector<std::size_t> unwritten_;
};

/// An automaton of an expression and the search for the end at the same time.
class text_automaton {
 public:
  text_automaton(const regex_node& texts, const end_search& search, std::size_t limit)
      : search_(search), limit_(limit) {
    const auto* whole = rest({&texts, 0, nullptr});
    begin_ = state_at(whole, end_search::begin);
    bare_begin_ = state_at(whole, search_.bare_begin());
    for (std::size_t next = 0; next < waiting_.size(); ++next) {
      const auto [left, place, state] = waiting_[next];
      write(left, place, state);
    }
    keep_productive();
  }

  /// The expression of all texts, with an end of a line before them or not, and what ends them.
  std::string add_rules(const std::string& end, rule_list& rules) const {
    if (!productive_[begin_] && !productive_[bare_begin_]) throw grammar_error("no text without quotes is valid by it");
    rule_names names(rules);
    std::vector<std::string> ways;
    if (productive_[begin_]) ways.push_back(sequence({literal("\n"), names.name_of(begin_)}));
    if (productive_[bare_begin_]) ways.push_back(names.name_of(bare_begin_));
    while (const auto next = names.take())
      rules.add(names.name_of(*next), expression_of(after_jumps(states_[*next]), names, end, rules));
    return alternatives(ways);
  }

 private:
  /// What is left of an expression: a node, of which so many parts or repetitions are done, and what follows it.
  struct remainder {
    const regex_node* node;
    std::uint64_t done;
    const remainder* then;

    auto operator<=>(const remainder&) const = default;
  };

  struct state {
    std::map<std::size_t, character_set> steps = {};
    std::set<std::size_t> jumps = {};
    std::optional<bool> end = {};  // whether an end of a line has to come before it
  };

  struct pending {
    const remainder* left;
    std::size_t place;
    std::size_t state;
  };

  const remainder* rest(remainder entry) { return &*remainders_.insert(entry).first; }

  std::size_t state_at(const remainder* left, std::size_t place) {
    const auto [known, is_new] = known_.try_emplace({left, place}, states_.size());
    if (!is_new) return known->second;
    if (states_.size() == limit_) throw too_many_states(limit_);
    states_.emplace_back();
    waiting_.push_back({left, place, known->second});
    return known->second;
  }

  void write(const remainder* left, std::size_t place, std::size_t index) {
    if (!left) {
      states_[index].end = place == search_.after_line();
      return;
    }
    switch (const auto& node = *left->node; node.type) {
      case kind::set:
        for (const auto& [target, characters] : search_.steps(place, node.set)) {
          const auto next = state_at(left->then, target);
          states_[index].steps[next].add(characters);
        }
        return;
      case kind::sequence:
        if (left->done == node.parts.size()) return jump(left->then, place, index);
        return jump(rest({&node.parts[left->done], 0, rest({&node, left->done + 1, left->then})}), place, index);
      case kind::alternatives:
        for (const auto& part : node.parts) jump(rest({&part, 0, left->then}), place, index);
        return;
      case kind::repeat:
        return write_repeat(*left, place, index);
    }
  }

  void write_repeat(const remainder& left, std::size_t place, std::size_t index) {
    const auto& [min, max] = left.node->times;
    if (left.done >= min) jump(left.then, place, index);
    if (left.done == max) return;
    const auto done = max == repetition::unlimited ? std::min(left.done + 1, min) : left.done + 1;
    jump(rest({&left.node->parts.front(), 0, rest({left.node, done, left.then})}), place, index);
  }

  void jump(const remainder* left, std::size_t place, std::size_t source) {
    const auto target = state_at(left, place);
    states_[source].jumps.insert(target);
  }

  /// The states from which an end can be reached.
  void keep_productive() {
    productive_.resize(states_.size());
    for (bool changed = true; std::exchange(changed, false);)
      for (std::size_t i = states_.size(); i-- > 0;) {
        if (productive_[i] || !leads_on(states_[i])) continue;
        productive_[i] = changed = true;
      }
  }

  bool leads_on(const state& current) const {
    const auto is_productive = [&](std::size_t target) { return productive_[target]; };
    return current.end || std::ranges::any_of(current.jumps, is_productive) ||
           std::ranges::any_of(current.steps, [&](const auto& step) { return is_productive(step.first); });
  }

  /// With what comes after jumps, of which there may be circles.
  state after_jumps(const state& current) const {
    state merged;
    std::set<std::size_t> seen;
    std::vector<const state*> left = {&current};
    while (!left.empty()) {
      const auto* next = left.back();
      left.pop_back();
      for (const auto& [target, characters] : next->steps) merged.steps[target].add(characters);
      if (next->end) merged.end = next->end;
      for (const auto target : next->jumps)
        if (seen.insert(target).second) left.push_back(&states_[target]);
    }
    return merged;
  }

  std::string expression_of(const state& merged, rule_names& names, const std::string& end, rule_list& rules) const {
    std::vector<std::string> ways;
    for (const auto& [target, characters] : merged.steps)
      if (productive_[target]) ways.push_back(sequence({ebnf_of(of_set(characters), rules), names.name_of(target)}));
    if (merged.end) ways.push_back(sequence({*merged.end ? literal("\n") : "[\\n]?", end}));
    return alternatives(ways);
  }

  const end_search& search_;
  std::size_t limit_;
  std::set<remainder> remainders_;
  std::map<std::pair<const remainder*, std::size_t>, std::size_t> known_;
  std::vector<state> states_;
  std::vector<pending> waiting_;
  std::vector<char> productive_;
  std::size_t begin_ = 0, bare_begin_ = 0;
};

}  // namespace

/// Where that takes many states, texts do not even hold the first two characters of the end.
std::string add_unquoted_text(const regex_node& texts, const text_end& end, rule_list& rules) {
  constexpr std::size_t beginning = 2;
  const auto spelling = characters_of(end.spelling);
  if (spelling.size() <= beginning)
    return text_automaton(texts, end_search(spelling), max_text_states).add_rules(end.expression, rules);
  try {
    return text_automaton(texts, end_search(spelling), few_states).add_rules(end.expression, rules);
  } catch (const too_many_states&) {
    return text_automaton(texts, end_search(spelling.substr(0, beginning)), max_text_states)
        .add_rules(end.expression, rules);
  }
}

}  // namespace cogen::grammar
