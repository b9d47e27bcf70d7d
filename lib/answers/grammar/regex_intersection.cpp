#include "answers/grammar/regex_intersection.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_ebnf.hpp"
#include "answers/grammar/steps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;
using states = std::set<int>;

constexpr std::size_t max_joint_states = 2000;
constexpr std::size_t max_classes = 128;
constexpr std::uint64_t max_written_states = 4000;
constexpr std::size_t max_copies = 20'000;

[[noreturn]] void refuse() {
  throw grammar_error("what has to hold for one string beside each other takes too many states");
}

/// Sets without a character in common, of which the sets of some patterns are made.
class alphabet {
 public:
  void split_by(const regex_node& node) {
    if (node.type == kind::set) split_by(node.set);
    for (const auto& part : node.parts) split_by(part);
  }

  const std::vector<character_set>& classes() const noexcept { return classes_; }
  char32_t character(std::size_t index) const { return classes_[index].ranges().front().first; }

 private:
  void split_by(const character_set& set) {
    if (!known_.insert(syntax_of(regex_node{.type = kind::set, .set = set.empty() ? set.complement() : set})).second)
      return;
    std::vector<character_set> split;
    for (const auto& each : classes_) {
      count_step();
      auto outside = each;
      outside.remove(set);
      auto inside = each;
      inside.remove(outside);
      for (auto& part : {std::move(inside), std::move(outside)})
        if (!part.empty()) split.push_back(part);
    }
    classes_ = std::move(split);
    if (classes_.size() > max_classes) refuse();
  }

  std::vector<character_set> classes_ = {character_set::full()};
  std::set<std::string> known_;
};

/// A machine of a pattern that may be in several states.
class branching_machine {
 public:
  explicit branching_machine(const regex_node& node) : start_(add()), end_(build(node, start_)) {}

  states start() const { return closure({start_}); }
  bool accepts(const states& current) const { return current.contains(end_); }

  states step(const states& current, char32_t character) const {
    states next;
    for (const auto each : current)
      for (const auto& [set, target] : moves_[static_cast<std::size_t>(each)]) {
        count_step();
        if (set->contains(character)) next.insert(target);
      }
    return closure(std::move(next));
  }

 private:
  int add() {
    if (moves_.size() >= max_copies) refuse();
    moves_.emplace_back();
    jumps_.emplace_back();
    return static_cast<int>(moves_.size()) - 1;
  }

  void jump(int source, int target) { jumps_[static_cast<std::size_t>(source)].push_back(target); }

  /// Adds what leads from one state to another one, which it returns.
  int build(const regex_node& node, int state) {
    if (node.type == kind::set) {
      const auto end = add();
      moves_[static_cast<std::size_t>(state)].emplace_back(&node.set, end);
      return end;
    }
    if (node.type == kind::repeat) return build_repeat(node, state);
    if (node.type == kind::sequence) {
      for (const auto& part : node.parts) state = build(part, state);
      return state;
    }
    const auto end = add();
    for (const auto& part : node.parts) {
      const auto begin = add();
      jump(state, begin);
      jump(build(part, begin), end);
    }
    return end;
  }

  int build_repeat(const regex_node& node, int state) {
    const auto& part = node.parts.front();
    for (std::uint64_t i = 0; i < node.times.min; ++i) state = build(part, state);
    const auto end = add();
    jump(state, end);
    if (node.times.max == repetition::unlimited) {
      const auto loop = add();
      jump(state, loop);
      const auto again = build(part, loop);
      jump(again, loop);
      jump(again, end);
      return end;
    }
    for (auto i = node.times.min; i < node.times.max; ++i) {
      const auto begin = add();
      jump(state, begin);
      state = build(part, begin);
      jump(state, end);
    }
    return end;
  }

  states closure(states reached) const {
    std::vector<int> open(reached.begin(), reached.end());
    while (!open.empty()) {
      const auto state = open.back();
      open.pop_back();
      for (const auto target : jumps_[static_cast<std::size_t>(state)])
        if (reached.insert(target).second) open.push_back(target);
    }
    return reached;
  }

  std::vector<std::vector<std::pair<const character_set*, int>>> moves_;
  std::vector<std::vector<int>> jumps_;
  int start_;
  int end_;
};

/// A machine in one state: where each class of characters leads from it.
struct machine {
  std::vector<std::vector<int>> next = {};  // [state][class]
  std::vector<bool> accepts = {};

  std::size_t size() const noexcept { return next.size(); }
};

/// All machines side by side, from their starts, where all wanted ones accept and no excluded one does.
machine product_of(const std::vector<branching_machine>& wanted, const std::vector<branching_machine>& excluded,
                   const alphabet& letters) {
  using place = std::vector<states>;
  const auto machine_of = [&](std::size_t i) -> const branching_machine& {
    return i < wanted.size() ? wanted[i] : excluded[i - wanted.size()];
  };
  const auto count = wanted.size() + excluded.size();
  machine product;
  std::map<place, int> known;
  std::vector<place> places;
  const auto id_of = [&](place position) {
    const auto [found, is_new] = known.try_emplace(position, static_cast<int>(places.size()));
    if (is_new) places.push_back(std::move(position));
    if (places.size() > max_joint_states) refuse();
    return found->second;
  };
  place start;
  for (std::size_t i = 0; i < count; ++i) start.push_back(machine_of(i).start());
  id_of(std::move(start));
  for (std::size_t state = 0; state < places.size(); ++state) {
    const auto current = places[state];
    bool accepts = true;
    for (std::size_t i = 0; i < count; ++i)
      accepts = accepts && machine_of(i).accepts(current[i]) == (i < wanted.size());
    product.accepts.push_back(accepts);
    auto& next = product.next.emplace_back();
    for (std::size_t letter = 0; letter < letters.classes().size(); ++letter) {
      place successor;
      for (std::size_t i = 0; i < count; ++i)
        successor.push_back(machine_of(i).step(current[i], letters.character(letter)));
      const bool is_dead =
          std::any_of(successor.begin(), successor.begin() + static_cast<std::ptrdiff_t>(wanted.size()),
                      [](const states& part) { return part.empty(); });
      next.push_back(is_dead ? -1 : id_of(std::move(successor)));
    }
  }
  return product;
}

/// States that no text tells apart are one. Each round tells apart by one character more.
machine minimized(const machine& original) {
  std::vector<int> group(original.accepts.begin(), original.accepts.end());
  for (std::size_t groups = 0;;) {
    std::map<std::vector<int>, int> known;
    std::vector<int> refined(original.size());
    for (std::size_t state = 0; state < original.size(); ++state) {
      count_steps(original.next[state].size());
      std::vector<int> key = {group[state]};
      for (const auto target : original.next[state])
        key.push_back(target < 0 ? -1 : group[static_cast<std::size_t>(target)]);
      refined[state] = known.try_emplace(std::move(key), static_cast<int>(known.size())).first->second;
    }
    group = std::move(refined);
    if (known.size() == groups) break;
    groups = known.size();
  }
  machine result;
  for (std::size_t state = 0; state < original.size(); ++state) {
    if (static_cast<std::size_t>(group[state]) != result.size()) continue;  // the first of a group stands for it
    auto& next = result.next.emplace_back();
    for (const auto target : original.next[state])
      next.push_back(target < 0 ? -1 : group[static_cast<std::size_t>(target)]);
    result.accepts.push_back(original.accepts[state]);
  }
  return result;
}

/// Takes the states out of a machine, one after the other, until patterns alone lead from its start to its end.
class elimination {
 public:
  elimination(const machine& source, const alphabet& letters) : states_(source.size() + 2) {
    const auto start = source.size(), end = source.size() + 1;
    connect(start, 0, of_text(""));
    for (std::size_t state = 0; state < source.size(); ++state) {
      if (source.accepts[state]) connect(state, end, of_text(""));
      std::map<std::size_t, character_set> sets;
      for (std::size_t letter = 0; letter < letters.classes().size(); ++letter)
        if (const auto target = source.next[state][letter]; target >= 0)
          sets[static_cast<std::size_t>(target)].add(letters.classes()[letter]);
      for (auto& [target, set] : sets) connect(state, target, of_set(set));
    }
  }

  std::optional<regex_node> run() {
    const auto start = states_ - 2, end = states_ - 1;
    std::vector<std::size_t> left(states_ - 2);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
    while (!left.empty()) {
      // Among those with as few ways through them, the last: what follows it is written already.
      const auto chosen = std::ranges::min_element(
          left, [&](std::size_t a, std::size_t b) { return std::pair(ways(a), b) < std::pair(ways(b), a); });
      take_out(*chosen);
      left.erase(chosen);
    }
    const auto found = out_[start].find(end);
    if (found == out_[start].end()) return std::nullopt;
    return found->second;
  }

 private:
  std::size_t ways(std::size_t state) const {
    count_step();
    const auto count_of = [&](const auto& map) {
      const auto found = map.find(state);
      return found == map.end() ? std::size_t{0} : found->second.size();
    };
    return count_of(in_) * count_of(out_);
  }

  void connect(std::size_t source, std::size_t target, regex_node label) {
    const auto known = out_[source].find(target);
    if (known == out_[source].end()) {
      out_[source].emplace(target, std::move(label));
      in_[target].insert(source);
      return;
    }
    auto& labels = known->second;
    if (labels.type != kind::alternatives) {
      auto first = std::move(labels);
      labels = regex_node{.type = kind::alternatives};
      labels.parts.push_back(std::move(first));
    }
    labels.parts.push_back(std::move(label));
    if (states_of(labels) > max_written_states) refuse();
  }

  void take_out(std::size_t state) {
    auto outgoing = std::move(out_[state]);
    out_.erase(state);
    std::optional<regex_node> loop;
    if (const auto own = outgoing.find(state); own != outgoing.end()) {
      loop = grammar::repeat_of(std::move(own->second), {});
      outgoing.erase(own);
    }
    auto incoming = std::move(in_[state]);
    in_.erase(state);
    incoming.erase(state);
    for (const auto& [target, label] : outgoing) in_[target].erase(state);
    for (const auto source : incoming) {
      const auto first = std::move(out_[source].at(state));
      out_[source].erase(state);
      for (const auto& [target, label] : outgoing) {
        std::vector<regex_node> parts = {first};
        if (loop) parts.push_back(*loop);
        parts.push_back(label);
        auto path = sequence_of(flat(std::move(parts)));
        if (states_of(path) > max_written_states) refuse();
        connect(source, target, std::move(path));
      }
    }
  }

  static std::vector<regex_node> flat(std::vector<regex_node> parts) {
    std::vector<regex_node> result;
    for (auto& part : parts) {
      if (part.type != kind::sequence) {
        result.push_back(std::move(part));
        continue;
      }
      for (auto& inner : part.parts) result.push_back(std::move(inner));
    }
    return result;
  }

  std::size_t states_;
  std::map<std::size_t, std::map<std::size_t, regex_node>> out_;
  std::map<std::size_t, std::set<std::size_t>> in_;
};

}  // namespace

std::optional<regex_node> intersection(const std::vector<regex_node>& wanted, const std::vector<regex_node>& excluded) {
  alphabet letters;
  std::vector<branching_machine> parts, others;
  for (const auto& each : wanted) {
    letters.split_by(each);
    parts.emplace_back(each);
  }
  for (const auto& each : excluded) {
    letters.split_by(each);
    others.emplace_back(each);
  }
  return elimination(minimized(product_of(parts, others, letters)), letters).run();
}

}  // namespace cogen::grammar
