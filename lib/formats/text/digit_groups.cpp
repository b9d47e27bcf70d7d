#include "formats/text/digit_groups.hpp"

#include "formats/text/character_class.hpp"
#include "formats/text/utf8.hpp"

namespace cogen::text {
namespace {

using number_kind = digit_groups_step::number_kind;

constexpr std::size_t group_size = 3;

/// Where the digits of one number begin, and where the last one ends.
struct number {
  std::vector<std::size_t> digits;
  std::size_t end;
};

bool ends_word(std::string_view after) { return after.empty() || !is_pattern_word(first_character(after).code_point); }

class number_reader {
 public:
  number_reader(std::string_view text, digit_groups_step step) : text_(text), step_(step) {}

  /// The next number; its digits are empty after the last one.
  number next() {
    number found{{}, 0};
    while (position_ < text_.size() && !is_digit_here()) position_ += length_here();
    while (position_ < text_.size() && is_digit_here()) {
      found.digits.push_back(position_);
      position_ += length_here();
    }
    found.end = position_;
    return found;
  }

 private:
  bool is_digit_here() const {
    const auto character = first_character(text_.substr(position_)).code_point;
    return step_.numbers == number_kind::any_digits ? is_numeric(character) : is_decimal(character);
  }
  std::size_t length_here() const { return first_character(text_.substr(position_)).length; }

  std::string_view text_;
  digit_groups_step step_;
  std::size_t position_ = 0;
};

void append_groups(const number& found, std::vector<range>& groups) {
  const auto count = found.digits.size();
  auto begin = std::size_t{0};
  for (auto end = count % group_size == 0 ? group_size : count % group_size; end <= count; end += group_size) {
    groups.push_back({found.digits[begin], end == count ? found.end : found.digits[end]});
    begin = end;
  }
}

/// Lets each piece reach from the first digit of a full group to the next one.
std::vector<range> from_group_to_group(const std::vector<range>& groups, std::string_view text) {
  std::vector<range> pieces;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    pieces.push_back({groups[i].begin, i + 1 < groups.size() ? groups[i + 1].begin : text.size()});
  }
  return pieces;
}

bool is_full(range group, std::string_view text) {
  std::size_t digits = 0;
  for (auto rest = group.slice(text); !rest.empty(); ++digits) rest.remove_prefix(first_character(rest).length);
  return digits == group_size;
}

}  // namespace

std::vector<range> digit_groups(std::string_view text, digit_groups_step step) {
  std::vector<range> groups;
  number_reader numbers(text, step);
  for (auto found = numbers.next(); !found.digits.empty(); found = numbers.next()) {
    if (step.numbers == number_kind::whole_words && !ends_word(text.substr(found.end))) continue;
    append_groups(found, groups);
  }
  if (step.numbers != number_kind::decimals) return groups;
  std::erase_if(groups, [&](range group) { return !is_full(group, text); });
  return from_group_to_group(groups, text);
}

}  // namespace cogen::text
