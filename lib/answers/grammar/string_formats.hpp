#pragma once

#include "answers/grammar/regex_syntax.hpp"

#include <string_view>

namespace cogen::grammar {

/// The strings of a `format` of JSON Schema: of some of them those in general use, such as host names in ASCII. Null
/// for a format that is unknown.
const regex_node* format_named(std::string_view name);

}  // namespace cogen::grammar
