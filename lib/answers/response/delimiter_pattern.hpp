#pragma once

#include "answers/response/delimiter.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace cogen::response {

/// The delimiters that a regular expression of a response template matches. Supported are characters, `\s*`, groups,
/// alternatives, and the captures `name`, `id` and `key` of any class. Throws std::invalid_argument, naming the pattern
/// and what is not supported.
std::vector<delimiter> delimiters_of_pattern(std::string_view pattern);

/// The delimiters before and after the capture `value` of a pattern.
std::pair<delimiter, delimiter> delimiters_around_value(std::string_view pattern);

}  // namespace cogen::response
