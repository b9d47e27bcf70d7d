#include "grammar/string_rules.hpp"

#include "grammar/regex_intersection.hpp"
#include "text/utf8.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;

/// A character in any of the ways in which JSON may spell it: half a surrogate pair is none.
const regex_node& character() {
  static const auto node =
      parse_regex(R"([^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
                  R"(|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))",
                  regex_match::whole);
  return node;
}

/// One that can be counted in a few states: without escapes by number.
const regex_node& counted_character() {
  static const auto node = parse_regex(R"([^"\\\x00-\x1f]|\\["\\/bfnrt])", regex_match::whole);
  return node;
}

regex_node in_quotes(regex_node body) { return sequence_of({of_text("\""), std::move(body), of_text("\"")}); }

/// Texts other than those of a list.
class exclusion {
 public:
  explicit exclusion(const std::vector<std::string>& excluded) {
    for (const auto& each : excluded) insert(each);
  }

  regex_node run() const { return node_of(root_); }

 private:
  struct node {
    std::map<char32_t, node> children;
    bool is_end = false;
  };

  void insert(std::string_view utf8) {
    auto* at = &root_;
    while (!utf8.empty()) {
      const auto next = text::first_character(utf8);
      at = &at->children[next.code_point];
      utf8.remove_prefix(next.length);
    }
    at->is_end = true;
  }

  static regex_node node_of(const node& at) {
    const auto anything = repeat_of(of_set(character_set::all()), {});
    auto others = character_set::all();
    std::vector<regex_node> parts;
    if (!at.is_end) parts.push_back(of_text(""));
    for (const auto& [character, child] : at.children) {
      others.remove({{character, character}});
      parts.push_back(sequence_of({of_set({{character, character}}), node_of(child)}));
    }
    parts.push_back(sequence_of({of_set(others), anything}));
    return any_of(std::move(parts));
  }

  node root_;
};

bool is_within(repetition inner, repetition outer) { return outer.least <= inner.least && inner.most <= outer.most; }

std::uint64_t less(std::uint64_t from, std::uint64_t taken) {
  if (from == repetition::unlimited) return from;
  return from > taken ? from - taken : 0;
}

/// Limits the one part of a pattern whose length varies, a repeated class. Says whether that was possible.
bool limit_length(regex_node& node, repetition lengths) {
  if (is_within(lengths_of(node), lengths)) return true;
  if (node.type == kind::repeat && node.parts.front().type == kind::set) {
    node.times = {std::max(node.times.least, lengths.least), std::min(node.times.most, lengths.most)};
    return node.times.least <= node.times.most;
  }
  if (node.type != kind::sequence) return false;
  regex_node* varying = nullptr;
  std::uint64_t fixed = 0;
  for (auto& part : node.parts) {
    const auto length = lengths_of(part);
    if (length.least == length.most) {
      fixed += length.least;
    } else if (varying) {
      return false;
    } else {
      varying = &part;
    }
  }
  if (!varying || lengths.most < fixed) return false;
  return limit_length(*varying, {less(lengths.least, fixed), less(lengths.most, fixed)});
}

/// The pattern if there is but one, with what else is asked for, as long as that needs no other machine.
std::optional<regex_node> one_pattern(const string_rules& strings) {
  if (strings.patterns.size() != 1 || !strings.denied.empty()) return std::nullopt;
  auto pattern = strings.patterns.begin()->second;
  for (const auto& each : strings.excluded)
    if (matches(pattern, each)) return std::nullopt;
  if (!limit_length(pattern, strings.lengths)) return std::nullopt;
  return pattern;
}

std::optional<regex_node> intersection_of(const string_rules& strings) {
  std::vector<regex_node> wanted, others = strings.denied;
  for (const auto& [name, pattern] : strings.patterns) wanted.push_back(pattern);
  if (strings.lengths != repetition{} || wanted.empty())
    wanted.push_back(repeat_of(of_set(character_set::all()), strings.lengths));
  for (const auto& each : strings.excluded) others.push_back(of_text(each));
  return intersection(wanted, others);
}

}  // namespace

std::optional<regex_node> strings_in_json(const string_rules& strings) {
  if (strings.lengths.least > strings.lengths.most) return std::nullopt;
  if (strings.unlimited()) return in_quotes(repeat_of(character(), {}));
  const bool has_patterns = !strings.patterns.empty() || !strings.denied.empty();
  if (!has_patterns && strings.excluded.empty()) return in_quotes(repeat_of(counted_character(), strings.lengths));
  if (!has_patterns && strings.lengths == repetition{}) return in_quotes(in_json(exclusion(strings.excluded).run()));
  if (const auto pattern = one_pattern(strings)) return in_quotes(in_json(*pattern));
  const auto texts = intersection_of(strings);
  if (!texts) return std::nullopt;
  return in_quotes(in_json(*texts));
}

}  // namespace cogen::grammar
