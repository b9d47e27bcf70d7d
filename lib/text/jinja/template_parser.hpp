#pragma once

#include "text/jinja/statements.hpp"

#include <string_view>

namespace cogen::text::jinja {

/// Parses a whole template. Throws template_error naming the first construct that is unknown or malformed, and its
/// line.
statement_list parse_template(std::string_view source);

}  // namespace cogen::text::jinja
