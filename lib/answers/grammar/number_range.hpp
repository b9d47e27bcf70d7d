#pragma once

#include "answers/grammar/regex_syntax.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cogen::grammar {

/// A decimal number, exactly as a schema has it.
class decimal {
 public:
  /// Of a number as JSON spells it. None beyond 40 digits before or after the point.
  static std::optional<decimal> parse(std::string_view json);

  bool negative = false;
  std::string whole = {};     ///< digits without leading zeros; empty below 1
  std::string fraction = {};  ///< digits without trailing zeros

  bool is_zero() const noexcept { return whole.empty() && fraction.empty(); }
  decimal magnitude() const { return {false, whole, fraction}; }
  std::string text() const;

  decimal() = default;
  decimal(bool is_negative, std::string whole_digits, std::string fraction_digits)
      : negative(is_negative && !(whole_digits.empty() && fraction_digits.empty())),
        whole(std::move(whole_digits)),
        fraction(std::move(fraction_digits)) {}

  friend bool operator==(const decimal&, const decimal&) = default;
  friend bool operator<(const decimal& left, const decimal& right);
};

/// An end of a range.
struct bound {
  decimal value;
  bool excluded = false;  ///< the value itself is outside
};

/// Numbers between two bounds, if they are given.
struct number_range {
  std::optional<bound> min = {};
  std::optional<bound> max = {};
  bool integer = false;

  bool unlimited() const noexcept { return !min && !max; }
  /// Whether there is surely no such number.
  bool empty() const;
  void raise(const bound& other);  ///< the least number
  void lower(const bound& other);  ///< the greatest number
};

/// The numbers of a range as JSON writes them without an exponent. Of a range that is empty: none.
std::optional<regex_node> numbers(const number_range& range);

/// What numbers() writes of one number.
regex_node spellings_of(const decimal& number);

/// The multiples of a number of which the last digits tell what they are, as JSON writes them without an exponent; none
/// for other numbers.
std::optional<regex_node> multiples_by_last_digits(const decimal& factor, bool integer);

/// Whether a number is a multiple of a positive one; none for more than 15 digits.
std::optional<bool> is_multiple(const decimal& number, const decimal& factor);

/// The least number that is a multiple of both; none if it is too large.
std::optional<decimal> common_multiple(const decimal& left, const decimal& right);

/// Adds the rules of integers, or of numbers, that are a multiple of one, and returns the expression for them. Throws
/// grammar_error for a number with too many digits.
std::string multiples_of(const decimal& factor, bool integer, rule_list& rules);

}  // namespace cogen::grammar
