#pragma once

#include "formats/text/range.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <string_view>
#include <vector>

namespace cogen::text {

/// The groups of three digits of a text's numbers, counted from the end of each. Linear in the text's length, as a
/// pattern that looks ahead to the end of a number is not. The text must be valid UTF-8.
std::vector<range> digit_groups(std::string_view text, digit_groups_step step);

}  // namespace cogen::text
