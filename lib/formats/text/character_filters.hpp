#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <string>
#include <string_view>

namespace cogen::text {

/// The text after a filter. It must be valid UTF-8.
std::string filtered(std::string_view text, character_filter filter);

}  // namespace cogen::text
