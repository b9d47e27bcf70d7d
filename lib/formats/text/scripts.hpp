#pragma once

#include <string>
#include <string_view>

namespace cogen::text {

/// Whether it is the name of a Unicode script, such as `Han` or `Old_Italic`; upper case, spaces and underscores do not
/// count.
bool is_script(std::string_view name);

/// Matches runs of one script. Hiragana and Katakana count as Han; a space and characters without a script continue a
/// run, but do not begin one.
std::string scripts_pattern();

}  // namespace cogen::text
