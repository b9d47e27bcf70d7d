#pragma once

#include "answers/grammar/distinct_rule.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::grammar {

/// How often a part may be repeated.
struct repetition {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t min = 0;
  std::uint64_t max = unlimited;

  friend bool operator==(const repetition&, const repetition&) = default;
};

// Expressions of EBNF. What they are made of is taken as written, in parentheses where it has to be.
std::string literal(std::string_view utf8);
std::string sequence(const std::vector<std::string>& parts);
std::string alternatives(const std::vector<std::string>& parts);  ///< of at least one
std::string repeated(const std::string& part, repetition times);

/// A character inside the quotes of a JSON string: itself, or its shortest escape.
std::string json_spelling(char32_t character);
/// A text in quotes, as the string of JSON.
std::string json_spelling(std::string_view utf8);

/// The rules of a grammar under construction.
class rule_list {
 public:
  /// A name that no other rule has.
  std::string new_name(std::string_view beginning);
  void add(std::string_view name, std::string_view expression);
  /// Adds the rule of a bracket that opens what has to differ, and returns its name.
  std::string add_bracket(char bracket, distinct_rule inside);
  std::string text() const { return text_; }
  const std::vector<distinct_rule>& distinct() const noexcept { return distinct_; }
  std::size_t size() const noexcept { return text_.size(); }

 private:
  std::string text_;
  std::vector<distinct_rule> distinct_;
  std::size_t names_ = 0;
};

}  // namespace cogen::grammar
