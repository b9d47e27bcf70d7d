#pragma once

#include <string>
#include <string_view>

namespace cogen::text::jinja {

// Python's str methods of these names. The text must be valid UTF-8.

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);
std::string capitalize(std::string_view text);

/// Jinja's filter `title`: words begin after white space, hyphens and opening brackets only.
std::string title_words(std::string_view text);

}  // namespace cogen::text::jinja
