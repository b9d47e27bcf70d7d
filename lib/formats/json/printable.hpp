#pragma once

#include <string>
#include <string_view>

namespace cogen::json {

/// Text from a file with unprintable bytes escaped, cut where it is long.
std::string printable(std::string_view text);

/// Text from a file as a message may show it: printable, in quotes.
std::string in_quotes(std::string_view text);

}  // namespace cogen::json
