#pragma once

#include "answers/grammar/character_set.hpp"
#include "answers/grammar/ebnf.hpp"

#include <map>
#include <string>
#include <vector>

namespace cogen::grammar {

/// Writes the rules of JSON strings other than those of a list. What tells them apart is written up to the first
/// character that differs, in one way; what follows is any string, in a rule for all lists.
class other_strings {
 public:
  explicit other_strings(rule_list& rules) : rules_(rules) {}

  /// The expression of the strings, in quotes.
  std::string but(const std::vector<std::string>& excluded);

 private:
  struct node {
    std::map<char32_t, node> next = {};
    bool is_end = false;
  };

  std::string written(const node& branch);
  void add_apart_from(const node& branch, std::vector<std::string>& parts);
  std::string beginning_with(const character_set& characters, bool may_end);
  const std::string& rest();

  rule_list& rules_;
  std::string rest_;
  std::map<std::string, std::string> beginnings_;  // rules, by the characters that the strings begin with
};

}  // namespace cogen::grammar
