#include "grammar/string_rules.hpp"

#include "grammar/grammar_error.hpp"
#include "text/utf8.hpp"

#include <algorithm>

namespace cogen::grammar {
namespace {

using kind = regex_node::kind;

/// A character in any of the ways in which JSON may spell it: half a surrogate pair is none.
constexpr const char* character_ebnf =
    R"(([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2})"
    R"( | [dD] [89abAB] [0-9a-fA-F]{2} "\\u" [dD] [c-fC-F] [0-9a-fA-F]{2}))))";

std::string in_json_quotes(const std::string& body) { return sequence({literal("\""), body, literal("\"")}); }

std::string any_character() { return any_of(character_set::all(), spelling::json); }

/// Strings other than those of a list, each character spelled in one way.
class exclusion {
 public:
  exclusion(const std::vector<std::string>& excluded, rule_list& rules) : rules_(rules), rest_(rules.new_name("rest")) {
    for (const auto& each : excluded) insert(each);
    rules_.add(rest_, sequence({repeated(any_character(), {}), literal("\"")}));
  }

  std::string run() { return sequence({literal("\""), rule_of(root_)}); }

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

  std::string rule_of(const node& at) {
    const auto name = rules_.new_name("except");
    auto others = character_set::all();
    std::vector<std::string> parts;
    if (!at.is_end) parts.push_back(literal("\""));
    for (const auto& [character, child] : at.children) {
      others.remove({{character, character}});
      parts.push_back(sequence({literal(json_spelling(character)), rule_of(child)}));
    }
    parts.push_back(sequence({any_of(others, spelling::json), rest_}));
    rules_.add(name, alternatives(parts));
    return name;
  }

  rule_list& rules_;
  std::string rest_;
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

std::string of_pattern(const string_rules& strings) {
  if (strings.patterns.size() > 1)
    throw grammar_error(strings.patterns.begin()->first + " beside " + strings.patterns.rbegin()->first +
                        " is not supported for one string");
  auto [name, pattern] = *strings.patterns.begin();
  for (const auto& each : strings.excluded)
    if (matches(pattern, each)) throw grammar_error("\"not\" beside " + name + " is not supported for one string");
  if (!limit_length(pattern, strings.lengths))
    throw grammar_error("minLength or maxLength beside " + name + " is not supported");
  return in_json_quotes(ebnf_of(pattern, spelling::json));
}

}  // namespace

std::optional<std::string> ebnf_of(const string_rules& strings, rule_list& rules) {
  if (strings.lengths.least > strings.lengths.most) return std::nullopt;
  if (!strings.patterns.empty()) return of_pattern(strings);
  if (strings.excluded.empty()) return in_json_quotes(repeated(character_ebnf, strings.lengths));
  if (strings.lengths != repetition{})
    throw grammar_error("minLength or maxLength beside \"not\" is not supported for one string");
  return exclusion(strings.excluded, rules).run();
}

}  // namespace cogen::grammar
