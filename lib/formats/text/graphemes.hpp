#pragma once

#include <cstddef>
#include <string_view>

namespace cogen::text {

/// The length in bytes of the extended grapheme cluster that the text begins with (UAX #29). The text must be valid
/// UTF-8 and not empty.
std::size_t first_grapheme(std::string_view text) noexcept;

}  // namespace cogen::text
