#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <string>
#include <string_view>

namespace cogen::text {

/// The text in a Unicode normal form, or in lower case. The text must be valid UTF-8.
/// Takes O(n log n) even where marks pile up on one letter.
std::string in_unicode_form(std::string_view text, unicode_form form);

}  // namespace cogen::text
