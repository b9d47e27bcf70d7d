#include "answers/grammar/string_rules.hpp"

#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/regex_intersection.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;

/// A character in any of the ways in which JSON may spell it: half a surrogate pair is none.
const regex_node& character() {
  static const auto node = made_once([] {
    return parse_regex(R"([^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
                       R"(|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))",
                       regex_match::whole);
  });
  return node;
}

/// One that can be counted in a few states: without escapes by number.
const regex_node& counted_character() {
  static const auto node =
      made_once([] { return parse_regex(R"([^"\\\x00-\x1f]|\\["\\/bfnrt])", regex_match::whole); });
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
    auto* current = &root_;
    while (!utf8.empty()) {
      const auto next = text::first_character(utf8);
      current = &current->children[next.code_point];
      utf8.remove_prefix(next.length);
    }
    current->is_end = true;
  }

  static regex_node node_of(const node& branch) {
    const auto anything = repeat_of(of_set(character_set::full()), {});
    auto remaining = character_set::full();
    std::vector<regex_node> parts;
    if (!branch.is_end) parts.push_back(of_text(""));
    for (const auto& [character, child] : branch.children) {
      remaining.remove({{character, character}});
      parts.push_back(sequence_of({of_set({{character, character}}), node_of(child)}));
    }
    parts.push_back(sequence_of({of_set(remaining), anything}));
    return any_of(std::move(parts));
  }

  node root_;
};

bool is_within(repetition inner, repetition outer) { return outer.min <= inner.min && inner.max <= outer.max; }

std::uint64_t less(std::uint64_t count, std::uint64_t taken) {
  if (count == repetition::unlimited) return count;
  return count > taken ? count - taken : 0;
}

/// Limits the one part of a pattern whose length varies, a repeated class. Says whether that was possible.
bool limit_length(regex_node& node, repetition lengths) {
  if (is_within(lengths_of(node), lengths)) return true;
  if (node.type == kind::repeat && node.parts.front().type == kind::set) {
    node.times = {std::max(node.times.min, lengths.min), std::min(node.times.max, lengths.max)};
    return node.times.min <= node.times.max;
  }
  if (node.type != kind::sequence) return false;
  regex_node* varying = nullptr;
  std::uint64_t fixed = 0;
  for (auto& part : node.parts) {
    const auto length = lengths_of(part);
    if (length.min == length.max) {
      fixed += length.min;
    } else if (varying) {
      return false;
    } else {
      varying = &part;
    }
  }
  if (!varying || lengths.max < fixed) return false;
  return limit_length(*varying, {less(lengths.min, fixed), less(lengths.max, fixed)});
}

bool shorten(regex_node& node, std::uint64_t max);

bool shorten_repeat(regex_node& node, std::uint64_t max) {
  auto& [min_times, max_times] = node.times;
  const auto times = std::max<std::uint64_t>(min_times, 1);
  if (!shorten(node.parts.front(), max / times)) return min_times == 0 && (max_times = 0, true);
  const auto part = lengths_of(node.parts.front());
  if (part.max > 0) max_times = std::min(max_times, std::max(max / part.max, times));
  return true;
}

/// Each part gets as much of what is left as those behind it.
bool shorten_sequence(regex_node& node, std::uint64_t max) {
  auto left = max - lengths_of(node).min;
  auto varying = std::ranges::count_if(node.parts, [](const regex_node& part) {
    const auto length = lengths_of(part);
    return length.min != length.max;
  });
  for (auto& part : node.parts) {
    const auto length = lengths_of(part);
    if (length.min == length.max) continue;
    if (!shorten(part, length.min + left / static_cast<std::uint64_t>(varying--))) return false;
    left -= lengths_of(part).max - length.min;
  }
  return true;
}

/// Leaves some of the matches with so many characters at most. Says whether there are any.
bool shorten(regex_node& node, std::uint64_t max) {
  const auto length = lengths_of(node);
  if (length.max <= max) return true;
  if (length.min > max) return false;
  if (node.type == kind::repeat) return shorten_repeat(node, max);
  if (node.type == kind::sequence) return shorten_sequence(node, max);
  std::erase_if(node.parts, [&](regex_node& part) { return !shorten(part, max); });
  return !node.parts.empty();
}

/// The pattern if there is but one, and nothing but a length is asked for beside it.
std::optional<regex_node> only_pattern(const string_rules& strings) {
  if (strings.patterns.size() != 1 || !strings.denied.empty()) return std::nullopt;
  const auto& pattern = strings.patterns.begin()->second;
  for (const auto& each : strings.excluded)
    if (matches(pattern, each)) return std::nullopt;
  return pattern;
}

std::optional<regex_node> intersection_of(const string_rules& strings) {
  std::vector<regex_node> wanted, denied = strings.denied;
  for (const auto& [name, pattern] : strings.patterns) wanted.push_back(pattern);
  if (strings.lengths != repetition{} || wanted.empty())
    wanted.push_back(repeat_of(of_set(character_set::full()), strings.lengths));
  for (const auto& each : strings.excluded) denied.push_back(of_text(each));
  return intersection(wanted, denied);
}

}  // namespace

regex_node string_characters() { return repeat_of(character(), {}); }

std::optional<regex_node> strings_without_quotes(const string_rules& strings) {
  if (strings.lengths.min > strings.lengths.max) return std::nullopt;
  const bool has_patterns = !strings.patterns.empty() || !strings.denied.empty();
  if (!has_patterns && strings.excluded.empty()) return repeat_of(of_set(character_set::full()), strings.lengths);
  if (!has_patterns && strings.lengths == repetition{}) return exclusion(strings.excluded).run();
  if (auto pattern = only_pattern(strings); pattern && limit_length(*pattern, strings.lengths)) return pattern;
  try {
    return intersection_of(strings);
  } catch (const grammar_error&) {  // some of the texts instead
    auto pattern = only_pattern(strings);
    if (!pattern || lengths_of(*pattern).min < strings.lengths.min || !shorten(*pattern, strings.lengths.max)) throw;
    return pattern;
  }
}

std::optional<regex_node> strings_in_json(const string_rules& strings) {
  if (strings.lengths.min > strings.lengths.max) return std::nullopt;
  if (strings.unlimited()) return in_quotes(string_characters());
  if (strings.patterns.empty() && strings.denied.empty() && strings.excluded.empty())
    return in_quotes(repeat_of(counted_character(), strings.lengths));
  const auto texts = strings_without_quotes(strings);
  if (!texts) return std::nullopt;
  return in_quotes(in_json(*texts));
}

}  // namespace cogen::grammar
