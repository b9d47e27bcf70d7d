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

  std::vector<character_set> classes_ = {character_set::all()};
  std::set<std::string> known_;
};

/// A machine of a pattern that may be in several states.
class branching_machine {
 public:
  explicit branching_machine(const regex_node& node) : start_(add()), end_(build(node, start_)) {}

  states start() const { return closure({start_}); }
  bool accepts(const states& at) const { return at.contains(end_); }

  states step(const states& at, char32_t character) const {
    states next;
    for (const auto each : at)
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

  void jump(int from, int to) { jumps_[static_cast<std::size_t>(from)].push_back(to); }

  /// Adds what leads from one state to another one, which it returns.
  int build(const regex_node& node, int from) {
    if (node.type == kind::set) {
      const auto end = add();
      moves_[static_cast<std::size_t>(from)].emplace_back(&node.set, end);
      return end;
    }
    if (node.type == kind::repeat) return build_repeat(node, from);
    if (node.type == kind::sequence) {
      for (const auto& part : node.parts) from = build(part, from);
      return from;
    }
    const auto end = add();
    for (const auto& part : node.parts) {
      const auto begin = add();
      jump(from, begin);
      jump(build(part, begin), end);
    }
    return end;
  }

  int build_repeat(const regex_node& node, int from) {
    const auto& part = node.parts.front();
    for (std::uint64_t i = 0; i < node.times.least; ++i) from = build(part, from);
    const auto end = add();
    jump(from, end);
    if (node.times.most == repetition::unlimited) {
      const auto loop = add();
      jump(from, loop);
      const auto again = build(part, loop);
      jump(again, loop);
      jump(again, end);
      return end;
    }
    for (auto i = node.times.least; i < node.times.most; ++i) {
      const auto begin = add();
      jump(from, begin);
      from = build(part, begin);
      jump(from, end);
    }
    return end;
  }

  states closure(states at) const {
    std::vector<int> open(at.begin(), at.end());
    while (!open.empty()) {
      const auto each = open.back();
      open.pop_back();
      for (const auto target : jumps_[static_cast<std::size_t>(each)])
        if (at.insert(target).second) open.push_back(target);
    }
    return at;
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
  machine all;
  std::map<place, int> known;
  std::vector<place> places;
  const auto id_of = [&](place at) {
    const auto [found, is_new] = known.try_emplace(at, static_cast<int>(places.size()));
    if (is_new) places.push_back(std::move(at));
    if (places.size() > max_joint_states) refuse();
    return found->second;
  };
  place start;
  for (std::size_t i = 0; i < count; ++i) start.push_back(machine_of(i).start());
  id_of(std::move(start));
  for (std::size_t state = 0; state < places.size(); ++state) {
    const auto at = places[state];
    bool accepts = true;
    for (std::size_t i = 0; i < count; ++i) accepts = accepts && machine_of(i).accepts(at[i]) == (i < wanted.size());
    all.accepts.push_back(accepts);
    auto& next = all.next.emplace_back();
    for (std::size_t letter = 0; letter < letters.classes().size(); ++letter) {
      place to;
      for (std::size_t i = 0; i < count; ++i) to.push_back(machine_of(i).step(at[i], letters.character(letter)));
      const bool is_dead = std::any_of(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(wanted.size()),
                                       [](const states& each) { return each.empty(); });
      next.push_back(is_dead ? -1 : id_of(std::move(to)));
    }
  }
  return all;
}

/// States that no text tells apart are one. Each round tells apart by one character more.
machine minimized(const machine& from) {
  std::vector<int> group(from.accepts.begin(), from.accepts.end());
  for (std::size_t groups = 0;;) {
    std::map<std::vector<int>, int> known;
    std::vector<int> refined(from.size());
    for (std::size_t state = 0; state < from.size(); ++state) {
      count_steps(from.next[state].size());
      std::vector<int> key = {group[state]};
      for (const auto to : from.next[state]) key.push_back(to < 0 ? -1 : group[static_cast<std::size_t>(to)]);
      refined[state] = known.try_emplace(std::move(key), static_cast<int>(known.size())).first->second;
    }
    group = std::move(refined);
    if (known.size() == groups) break;
    groups = known.size();
  }
  machine all;
  for (std::size_t state = 0; state < from.size(); ++state) {
    if (static_cast<std::size_t>(group[state]) != all.size()) continue;  // the first of a group stands for it
    auto& next = all.next.emplace_back();
    for (const auto to : from.next[state]) next.push_back(to < 0 ? -1 : group[static_cast<std::size_t>(to)]);
    all.accepts.push_back(from.accepts[state]);
  }
  return all;
}

/// Takes the states out of a machine, one after the other, until patterns alone lead from its start to its end.
class elimination {
 public:
  elimination(const machine& from, const alphabet& letters) : states_(from.size() + 2) {
    const auto start = from.size(), end = from.size() + 1;
    connect(start, 0, of_text(""));
    for (std::size_t state = 0; state < from.size(); ++state) {
      if (from.accepts[state]) connect(state, end, of_text(""));
      std::map<std::size_t, character_set> sets;
      for (std::size_t letter = 0; letter < letters.classes().size(); ++letter)
        if (const auto to = from.next[state][letter]; to >= 0)
          sets[static_cast<std::size_t>(to)].add(letters.classes()[letter]);
      for (auto& [to, set] : sets) connect(state, to, of_set(set));
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
    const auto of = [&](const auto& map) {
      const auto found = map.find(state);
      return found == map.end() ? std::size_t{0} : found->second.size();
    };
    return of(in_) * of(out_);
  }

  void connect(std::size_t from, std::size_t to, regex_node by) {
    const auto known = out_[from].find(to);
    if (known == out_[from].end()) {
      out_[from].emplace(to, std::move(by));
      in_[to].insert(from);
      return;
    }
    auto& all = known->second;
    if (all.type != kind::alternatives) {
      auto first = std::move(all);
      all = regex_node{.type = kind::alternatives};
      all.parts.push_back(std::move(first));
    }
    all.parts.push_back(std::move(by));
    if (states_of(all) > max_written_states) refuse();
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
    for (const auto& [to, by] : outgoing) in_[to].erase(state);
    for (const auto from : incoming) {
      const auto first = std::move(out_[from].at(state));
      out_[from].erase(state);
      for (const auto& [to, by] : outgoing) {
        std::vector<regex_node> parts = {first};
        if (loop) parts.push_back(*loop);
        parts.push_back(by);
        auto all = sequence_of(flat(std::move(parts)));
        if (states_of(all) > max_written_states) refuse();
        connect(from, to, std::move(all));
      }
    }
  }

  static std::vector<regex_node> flat(std::vector<regex_node> parts) {
    std::vector<regex_node> all;
    for (auto& part : parts) {
      if (part.type != kind::sequence) {
        all.push_back(std::move(part));
        continue;
      }
      for (auto& inner : part.parts) all.push_back(std::move(inner));
    }
    return all;
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
