#pragma once

#include "answers/grammar/regex_syntax.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cogen::grammar {

/// What a string has to satisfy.
struct string_rules {
  repetition lengths = {};                          ///< in characters
  std::map<std::string, regex_node> patterns = {};  ///< by what a message calls them
  std::vector<regex_node> denied = {};              ///< patterns that must not match
  std::vector<std::string> excluded = {};

  bool unlimited() const noexcept { return only_excludes() && excluded.empty(); }
  /// Whether it asks for nothing but that a string is not excluded.
  bool only_excludes() const noexcept { return lengths == repetition{} && patterns.empty() && denied.empty(); }
};

/// What stands between the quotes of JSON strings.
regex_node string_characters();

/// The strings as they are; none if there are none. Throws grammar_error for a combination that is not supported.
std::optional<regex_node> strings_without_quotes(const string_rules& strings);

/// The strings in quotes, as JSON spells them; none if there are none. Throws grammar_error for a combination that is
/// not supported.
std::optional<regex_node> strings_in_json(const string_rules& strings);

}  // namespace cogen::grammar
