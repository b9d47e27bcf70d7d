#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cogen::text::jinja {

/// The content of a string literal without its quotes, its escapes resolved as Python does.
/// Throws template_error for a malformed one.
std::string unescaped(std::string_view literal, std::size_t line);

}  // namespace cogen::text::jinja
