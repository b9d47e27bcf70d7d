#include "answers/grammar/number_range.hpp"

#include "answers/grammar/grammar_error.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace cogen::grammar {
namespace {

constexpr std::size_t max_digits = 40;
regex_node digits(char first, char last) {
  return of_set({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
}

const regex_node digit = digits('0', '9');
const regex_node any_digits = repeat_of(digit, {});
const regex_node any_zeros = repeat_of(digits('0', '0'), {});
const regex_node not_zero = sequence_of({any_digits, digits('1', '9'), any_digits});
const regex_node point = of_text(".");
const regex_node any_fraction = repeat_of(sequence_of({point, repeat_of(digit, {1, repetition::unlimited})}), {0, 1});
const regex_node nothing = of_text("");

std::string zeros(std::size_t count) { return std::string(count, '0'); }

/// One digit of a range of them; none if it is empty.
std::optional<regex_node> digit_between(char first, char last) {
  if (first > last) return std::nullopt;
  return digits(first, last);
}

regex_node exactly(std::size_t count) { return repeat_of(digit, {count, count}); }

regex_node a_digit(char which) { return digits(which, which); }

char next(char which) { return static_cast<char>(which + 1); }
char previous(char which) { return static_cast<char>(which - 1); }

void add(std::vector<regex_node>& parts, std::optional<regex_node> part) {
  if (part) parts.push_back(std::move(*part));
}

std::optional<regex_node> either(std::vector<regex_node> parts) {
  if (parts.empty()) return std::nullopt;
  return any_of(std::move(parts));
}

std::optional<regex_node> then(const regex_node& first, const std::optional<regex_node>& second) {
  if (!second) return std::nullopt;
  return sequence_of({first, *second});
}

// Digits of one length, compared with the same number of digits.

std::optional<regex_node> same_length_at_least(std::string_view digits) {
  if (digits.empty()) return nothing;
  std::vector<regex_node> parts;
  add(parts, then(a_digit(digits[0]), same_length_at_least(digits.substr(1))));
  add(parts, digit_between(next(digits[0]), '9'));
  if (parts.size() == 2) parts[1] = sequence_of({parts[1], exactly(digits.size() - 1)});
  return either(parts);
}

std::optional<regex_node> same_length_at_most(std::string_view digits) {
  if (digits.empty()) return nothing;
  std::vector<regex_node> parts;
  if (auto lower = digit_between('0', previous(digits[0])))
    parts.push_back(sequence_of({*lower, exactly(digits.size() - 1)}));
  add(parts, then(a_digit(digits[0]), same_length_at_most(digits.substr(1))));
  return either(parts);
}

std::optional<regex_node> same_length_between(std::string_view min, std::string_view max) {
  if (min.empty()) return nothing;
  if (min[0] == max[0]) return then(a_digit(min[0]), same_length_between(min.substr(1), max.substr(1)));
  std::vector<regex_node> parts;
  add(parts, then(a_digit(min[0]), same_length_at_least(min.substr(1))));
  if (auto between = digit_between(next(min[0]), previous(max[0])))
    parts.push_back(sequence_of({*between, exactly(min.size() - 1)}));
  add(parts, then(a_digit(max[0]), same_length_at_most(max.substr(1))));
  return either(parts);
}

// Whole numbers from 0 on, written without leading zeros. `whole` is empty for 0.

regex_node nonzero_of_length(std::size_t length) { return sequence_of({digits('1', '9'), exactly(length - 1)}); }

std::optional<regex_node> whole_between(std::string_view min, const std::optional<std::string>& max) {
  std::vector<regex_node> parts;
  if (min.empty()) parts.push_back(digits('0', '0'));
  const auto first = min.empty() ? std::string("1") : std::string(min);
  if (!max) {
    add(parts, same_length_at_least(first));
    parts.push_back(sequence_of({digits('1', '9'), exactly(first.size()), any_digits}));
    return either(parts);
  }
  if (max->size() < first.size() || (max->size() == first.size() && *max < first)) return either(parts);
  if (max->size() == first.size()) {
    add(parts, same_length_between(first, *max));
    return either(parts);
  }
  add(parts, same_length_at_least(first));
  for (auto length = first.size() + 1; length < max->size(); ++length) parts.push_back(nonzero_of_length(length));
  add(parts, same_length_between("1" + zeros(max->size() - 1), *max));
  return either(parts);
}

std::string plus_one(std::string digits) {
  for (auto place = digits.rbegin(); place != digits.rend(); ++place) {
    if (*place != '9') {
      ++*place;
      return digits;
    }
    *place = '0';
  }
  return "1" + digits;
}

std::string minus_one(std::string digits) {
  for (auto place = digits.rbegin(); place != digits.rend(); ++place) {
    if (*place != '0') {
      --*place;
      break;
    }
    *place = '9';
  }
  digits.erase(0, digits.find_first_not_of('0'));
  return digits;
}

// Digits after a point, of any number, compared with others that do not end in zeros.

std::optional<regex_node> digits_at_least(std::string_view min, bool excluded) {
  if (min.empty()) return excluded ? not_zero : any_digits;
  std::vector<regex_node> parts;
  if (auto above = digit_between(next(min[0]), '9')) parts.push_back(sequence_of({*above, any_digits}));
  add(parts, then(a_digit(min[0]), digits_at_least(min.substr(1), excluded)));
  return either(parts);
}

std::optional<regex_node> digits_at_most(std::string_view max, bool excluded, bool may_be_none) {
  if (max.empty()) {
    if (excluded) return std::nullopt;
    return repeat_of(digits('0', '0'), {may_be_none ? 0u : 1u, repetition::unlimited});
  }
  std::vector<regex_node> parts;
  if (may_be_none) parts.push_back(nothing);
  if (auto below = digit_between('0', previous(max[0]))) parts.push_back(sequence_of({*below, any_digits}));
  add(parts, then(a_digit(max[0]), digits_at_most(max.substr(1), excluded, true)));
  return either(parts);
}

struct fraction_range {
  std::string_view min;
  bool min_excluded;
  std::string_view max;
  bool max_excluded;
};

std::optional<regex_node> digits_between(const fraction_range& range, bool may_be_none) {
  if (range.max.empty()) return std::nullopt;
  const auto low = range.min.empty() ? '0' : range.min[0];
  const auto high = range.max[0];
  const auto rest_min = range.min.substr(std::min<std::size_t>(1, range.min.size()));
  const auto rest_max = range.max.substr(1);
  std::vector<regex_node> parts;
  if (may_be_none && range.min.empty() && !range.min_excluded) parts.push_back(nothing);
  if (low == high) {
    if (rest_max.empty()) {
      if (rest_min.empty() && !range.min_excluded && !range.max_excluded)
        parts.push_back(sequence_of({a_digit(low), any_zeros}));
      return either(parts);
    }
    add(parts, then(a_digit(low), digits_between({rest_min, range.min_excluded, rest_max, range.max_excluded}, true)));
    return either(parts);
  }
  add(parts, then(a_digit(low), digits_at_least(rest_min, range.min_excluded)));
  if (auto between = digit_between(next(low), previous(high))) parts.push_back(sequence_of({*between, any_digits}));
  add(parts, then(a_digit(high), digits_at_most(rest_max, range.max_excluded, true)));
  return either(parts);
}

std::optional<regex_node> after_whole_at_least(std::string_view min, bool excluded) {
  if (min.empty()) return excluded ? sequence_of({point, not_zero}) : any_fraction;
  return then(point, digits_at_least(min, excluded));
}

std::optional<regex_node> after_whole_at_most(std::string_view max, bool excluded) {
  std::vector<regex_node> parts;
  if (!max.empty() || !excluded) parts.push_back(nothing);
  add(parts, then(point, digits_at_most(max, excluded, false)));
  return either(parts);
}

std::optional<regex_node> after_whole_between(const fraction_range& range) {
  if (range.min == range.max) {
    if (range.min_excluded || range.max_excluded) return std::nullopt;
    if (range.min.empty()) return repeat_of(sequence_of({point, digits('0', '0'), any_zeros}), {0, 1});
    return sequence_of({point, of_text(range.min), any_zeros});
  }
  std::vector<regex_node> parts;
  if (range.min.empty() && !range.min_excluded) parts.push_back(nothing);
  add(parts, then(point, digits_between(range, false)));
  return either(parts);
}

std::string digits_of(std::string_view whole) { return whole.empty() ? "0" : std::string(whole); }

/// Magnitudes between two bounds, the lower one from 0 on.
std::optional<regex_node> magnitudes(const bound& min, const std::optional<bound>& max, bool integer) {
  const auto& lower = min.value;
  if (integer) {
    auto first = lower.whole;
    if (!lower.fraction.empty() || min.excluded) first = plus_one(first);
    if (!max) return whole_between(first, std::nullopt);
    auto last = max->value.whole;
    if (max->excluded && max->value.fraction.empty()) {
      if (last.empty()) return std::nullopt;
      last = minus_one(last);
    }
    return whole_between(first, last);
  }
  if (max && lower.whole == max->value.whole)
    return then(of_text(digits_of(lower.whole)),
                after_whole_between({lower.fraction, min.excluded, max->value.fraction, max->excluded}));
  std::vector<regex_node> parts;
  add(parts, then(of_text(digits_of(lower.whole)), after_whole_at_least(lower.fraction, min.excluded)));
  std::optional<std::string> last_between;
  if (max) last_between = minus_one(max->value.whole);
  if (auto between = whole_between(plus_one(lower.whole), last_between))
    parts.push_back(sequence_of({*between, any_fraction}));
  if (max) add(parts, then(of_text(max->value.whole), after_whole_at_most(max->value.fraction, max->excluded)));
  return either(parts);
}

const bound from_zero = {};

std::optional<bound> magnitude_of(const std::optional<bound>& side) {
  if (!side) return std::nullopt;
  return bound{side->value.magnitude(), side->excluded};
}

}  // namespace

std::optional<decimal> decimal::parse(std::string_view json) {
  decimal parsed;
  if (json.starts_with('-')) json.remove_prefix(1), parsed.negative = true;
  int exponent = 0;
  if (const auto place = json.find_first_of("eE"); place != std::string_view::npos) {
    auto digits = json.substr(place + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    json = json.substr(0, place);
  }
  const auto dot = std::min(json.find('.'), json.size());
  auto digits = std::string(json.substr(0, dot)) + std::string(json.substr(std::min(dot + 1, json.size())));
  auto place = static_cast<long>(dot) + exponent;
  if (std::labs(place) > static_cast<long>(2 * max_digits)) return std::nullopt;
  if (place < 0) digits.insert(0, zeros(static_cast<std::size_t>(-place))), place = 0;
  if (place > static_cast<long>(digits.size())) digits.append(zeros(static_cast<std::size_t>(place) - digits.size()));
  parsed.whole = digits.substr(0, static_cast<std::size_t>(place));
  parsed.fraction = digits.substr(static_cast<std::size_t>(place));
  parsed.whole.erase(0, parsed.whole.find_first_not_of('0'));
  parsed.fraction.erase(parsed.fraction.find_last_not_of('0') + 1);
  if (parsed.whole.size() > max_digits || parsed.fraction.size() > max_digits) return std::nullopt;
  return decimal(parsed.negative, parsed.whole, parsed.fraction);
}

std::string decimal::text() const {
  return (negative ? "-" : "") + digits_of(whole) + (fraction.empty() ? "" : "." + fraction);
}

bool operator<(const decimal& left, const decimal& right) {
  if (left.negative != right.negative) return left.negative;
  if (left.negative) return right.magnitude() < left.magnitude();
  if (left.whole.size() != right.whole.size()) return left.whole.size() < right.whole.size();
  return left.whole != right.whole ? left.whole < right.whole : left.fraction < right.fraction;
}

bool number_range::empty() const {
  if (!min || !max) return false;
  if (max->value < min->value) return true;
  return min->value == max->value && (min->excluded || max->excluded);
}

void number_range::raise(const bound& other) {
  if (!min || min->value < other.value || (min->value == other.value && other.excluded)) min = other;
}

void number_range::lower(const bound& other) {
  if (!max || other.value < max->value || (max->value == other.value && other.excluded)) max = other;
}

std::optional<regex_node> numbers(const number_range& range) {
  if (range.empty()) return std::nullopt;
  std::vector<regex_node> parts;
  const bool has_positive = !range.max || !range.max->value.negative;
  const bool has_negative = !range.min || range.min->value.negative;
  if (has_positive) add(parts, magnitudes(has_negative ? from_zero : *range.min, range.max, range.integer));
  if (has_negative) {
    const bool from_most = range.max && range.max->value.negative;
    const auto closest = from_most ? *magnitude_of(range.max) : bound{.value = {}, .excluded = true};
    add(parts, then(of_text("-"), magnitudes(closest, magnitude_of(range.min), range.integer)));
  }
  return either(parts);
}

regex_node spellings_of(const decimal& number) {
  const auto sign = number.is_zero() ? repeat_of(of_text("-"), {0, 1}) : of_text(number.negative ? "-" : "");
  const auto zeros_behind = number.fraction.empty()
                                ? repeat_of(sequence_of({point, digits('0', '0'), any_zeros}), {0, 1})
                                : sequence_of({of_text("." + number.fraction), any_zeros});
  return sequence_of({sign, of_text(digits_of(number.whole)), zeros_behind});
}

namespace {

constexpr std::uint64_t max_factor = 1000;

/// States of reading a number digit by digit: its remainder so far, and how many digits after the point were read.
class multiples {
 public:
  multiples(std::uint64_t factor, std::size_t places, rule_list& rules)
      : factor_(factor), places_(places), prefix_(rules.new_name("multiple")) {
    for (std::size_t read = 0; read <= places_; ++read)
      for (std::uint64_t remainder = 0; remainder < factor_; ++remainder)
        if (can_end(remainder, read)) rules.add(name(remainder, read), alternatives(goes_on(remainder, read)));
  }

  std::string start() const {
    std::vector<std::string> parts = {literal("0")};
    if (places_ > 0) parts.push_back(sequence({literal("0"), literal("."), alternatives(digits_after(0, 1))}));
    for (char first = '1'; first <= '9'; ++first) parts.push_back(step(0, first, 0));
    return sequence({"(\"-\")?", alternatives(parts)});
  }

 private:
  std::string name(std::uint64_t remainder, std::size_t read) const {
    return prefix_ + "_" + std::to_string(read) + "_" + std::to_string(remainder);
  }

  std::uint64_t after(std::uint64_t remainder, char which) const {
    return (remainder * 10 + static_cast<std::uint64_t>(which - '0')) % factor_;
  }

  bool is_multiple(std::uint64_t remainder, std::size_t read) const {
    for (; read < places_; ++read) remainder = after(remainder, '0');
    return remainder == 0;
  }

  /// Whole numbers can always be continued to a multiple; digits after the point only as far as they count.
  bool can_end(std::uint64_t remainder, std::size_t read) const {
    if (read == 0 || is_multiple(remainder, read)) return true;
    return read < places_ && !digits_after(remainder, read + 1).empty();
  }

  std::string step(std::uint64_t remainder, char which, std::size_t read) const {
    return sequence({literal(std::string(1, which)), name(after(remainder, which), read)});
  }

  std::vector<std::string> digits_after(std::uint64_t remainder, std::size_t read) const {
    std::vector<std::string> parts;
    for (char which = '0'; which <= '9'; ++which)
      if (can_end(after(remainder, which), read)) parts.push_back(step(remainder, which, read));
    return parts;
  }

  std::vector<std::string> goes_on(std::uint64_t remainder, std::size_t read) const {
    std::vector<std::string> parts;
    if (read > 0 && read == places_) return {"[0]*"};
    if (is_multiple(remainder, read)) parts.push_back(literal(""));
    if (places_ > 0) {
      const auto fraction = digits_after(remainder, read + 1);
      if (!fraction.empty())
        parts.push_back(read > 0 ? alternatives(fraction) : sequence({literal("."), alternatives(fraction)}));
    }
    if (read == 0)
      for (char which = '0'; which <= '9'; ++which) parts.push_back(step(remainder, which, 0));
    return parts;
  }

  std::uint64_t factor_;
  std::size_t places_;
  std::string prefix_;
};

}  // namespace

namespace {

constexpr std::size_t max_last_digits = 4;
constexpr std::uint64_t max_endings = 200;

std::uint64_t power_of_ten(std::size_t exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

/// A number times a power of ten, as an integer; none if it is too large.
std::optional<std::uint64_t> scaled(const decimal& number, std::size_t places) {
  const auto digits = number.whole + number.fraction + zeros(places - std::min(places, number.fraction.size()));
  std::uint64_t value = 0;
  if (digits.size() > 15 || number.fraction.size() > places) return std::nullopt;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string padded(std::uint64_t value, std::size_t size) {
  const auto digits = std::to_string(value);
  return zeros(size - std::min(size, digits.size())) + digits;
}

/// Whole numbers that end so; without digits, any.
regex_node whole_numbers(const std::string& ending) {
  const auto more = sequence_of({digits('1', '9'), repeat_of(digits('0', '9'), {})});
  if (ending.empty()) return any_of({of_text("0"), more});
  const auto first = std::min(ending.find_first_not_of('0'), ending.size() - 1);
  return any_of({of_text(ending.substr(first)), sequence_of({more, of_text(ending)})});
}

/// A fraction in so many digits, and zeros behind them; zeros alone may be left out.
regex_node fraction_of(const std::string& spelled) {
  const auto used = spelled.find_last_not_of('0') + 1;
  if (used == 0) return repeat_of(sequence_of({point, digits('0', '0'), any_zeros}), {0, 1});
  return sequence_of({of_text("." + spelled.substr(0, used)), any_zeros});
}

regex_node up_to_places(std::size_t places) {
  if (places == 0) return nothing;
  return repeat_of(sequence_of({point, repeat_of(digit, {1, places}), any_zeros}), {0, 1});
}

}  // namespace

std::optional<bool> is_multiple(const decimal& number, const decimal& factor) {
  const auto places = std::max(number.fraction.size(), factor.fraction.size());
  const auto value = scaled(number.magnitude(), places), unit = scaled(factor, places);
  if (!value || !unit || *unit == 0) return std::nullopt;
  return *value % *unit == 0;
}

std::optional<regex_node> multiples_by_last_digits(const decimal& factor, bool integer) {
  auto places = factor.fraction.size();
  auto value = scaled(factor, places);
  if (!value || places > max_last_digits) return std::nullopt;
  if (integer) value = std::lcm(*value, power_of_ten(std::exchange(places, 0))) / power_of_ten(factor.fraction.size());
  if (*value == 1) return sequence_of({repeat_of(of_text("-"), {0, 1}), whole_numbers(""), up_to_places(places)});
  std::size_t last = places;
  while (last <= max_last_digits && power_of_ten(last) % *value != 0) ++last;
  if (last > max_last_digits || power_of_ten(last) / *value > max_endings) return std::nullopt;
  std::vector<regex_node> ways;
  for (std::uint64_t ending = 0; ending < power_of_ten(last); ending += *value) {
    const auto digits = padded(ending, last);
    const auto whole = whole_numbers(digits.substr(0, last - places));
    const auto fraction = digits.substr(last - places);
    ways.push_back(integer ? whole : sequence_of({whole, fraction_of(fraction)}));
  }
  return sequence_of({repeat_of(of_text("-"), {0, 1}), any_of(std::move(ways))});
}

std::optional<decimal> common_multiple(const decimal& left, const decimal& right) {
  const auto places = std::max(left.fraction.size(), right.fraction.size());
  const auto first = scaled(left, places), second = scaled(right, places);
  if (!first || !second || *first / std::gcd(*first, *second) > 1'000'000'000'000'000 / *second) return std::nullopt;
  return decimal::parse(std::to_string(std::lcm(*first, *second)) + "e-" + std::to_string(places));
}

std::string multiples_of(const decimal& factor, bool integer, rule_list& rules) {
  const auto digits = factor.whole + factor.fraction;
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const auto places = factor.fraction.size();
  if (digits.size() > 15 || value * (places + 1) > max_factor || (integer && places > 0))
    throw grammar_error("multipleOf " + factor.text() + " is not supported" +
                        (integer && places > 0 ? " for integers" : "; at most 1000 states are"));
  return multiples(value, places, rules).start();
}

}  // namespace cogen::grammar
