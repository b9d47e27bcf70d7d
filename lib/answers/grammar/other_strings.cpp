#include "answers/grammar/other_strings.hpp"

#include "answers/grammar/regex_ebnf.hpp"
#include "answers/grammar/regex_syntax.hpp"
#include "answers/grammar/string_rules.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace cogen::grammar {
namespace {

/// Letters, a few at a time.
const std::vector<character_set>& blocks() {
  static const auto result = [] {
    constexpr char32_t size = 13;
    std::vector<character_set> found;
    for (const char32_t letters : {U'a', U'A'})
      for (char32_t first = 0; first < 26; first += size)
        found.push_back({{letters + first, letters + std::min<char32_t>(first + size, 26) - 1}});
    return found;
  }();
  return result;
}

}  // namespace

std::string other_strings::but(const std::vector<std::string>& excluded) {
  node root;
  for (const auto& each : excluded) {
    auto* current = &root;
    for (std::string_view left = each; !left.empty();) {
      const auto next = text::first_character(left);
      current = &current->next[next.code_point];
      left.remove_prefix(next.length);
    }
    current->is_end = true;
  }
  return sequence({R"("\"")", written(root)});
}

std::string other_strings::written(const node& branch) {
  std::vector<std::string> parts;
  for (const auto& [character, next] : branch.next) {
    parts.push_back(rules_.new_name("name"));
    const auto further = written(next);
    rules_.add(parts.back(), sequence({literal(json_spelling(character)), further}));
  }
  add_apart_from(branch, parts);
  return alternatives(parts);
}

/// What ends here, and what goes on with other characters. The backend looks at all tokens that begin with a rule's
/// characters, once for all places that have it: it is by few characters that these differ.
void other_strings::add_apart_from(const node& branch, std::vector<std::string>& parts) {
  auto remaining = character_set::full();
  for (const auto& block : blocks()) {
    auto characters = block;
    remaining.remove(block);
    for (const auto& [character, next] : branch.next) characters.remove({{character, character}});
    if (!characters.empty()) parts.push_back(beginning_with(characters, false));
  }
  for (const auto& [character, next] : branch.next) remaining.remove({{character, character}});
  parts.push_back(beginning_with(remaining, !branch.is_end));
}

std::string other_strings::beginning_with(const character_set& characters, bool may_end) {
  std::string key = may_end ? "\"" : "";
  for (const auto& [first, last] : characters.ranges())
    key += std::to_string(static_cast<std::uint32_t>(first)) + "-" + std::to_string(static_cast<std::uint32_t>(last)) +
           " ";
  auto& name = beginnings_[key];
  if (name.empty()) {
    std::vector<std::string> parts = {sequence({ebnf_of(in_json(of_set(characters)), rules_), rest()})};
    if (may_end) parts.emplace_back(R"("\"")");
    name = rules_.new_name("other");
    rules_.add(name, alternatives(parts));
  }
  return name;
}

const std::string& other_strings::rest() {
  if (rest_.empty()) {
    rest_ = rules_.new_name("rest");
    const auto content = ebnf_of(string_characters(), rules_);
    rules_.add(rest_, sequence({content, R"("\"")"}));
  }
  return rest_;
}

}  // namespace cogen::grammar
