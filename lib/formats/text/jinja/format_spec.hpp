#pragma once

#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cogen::text::jinja {

/// How a value is laid out as text: the common part of Python's format() and of its % operator.
struct format_spec {
  std::string fill = " ";  ///< one character
  char align = '\0';       ///< <, >, ^ or = (fill after the sign); none: as the kind of value is used to
  char sign = '-';         ///< -, + or a space: before numbers that are not negative
  bool alternate = false;  ///< with 0x, or a point that nothing follows
  char grouping = '\0';    ///< between groups of digits: a comma or _
  std::size_t width = 0;   ///< at least so many characters
  std::optional<std::size_t> precision = {};  ///< digits, or the most characters of a text
  char type = '\0';
};

/// Reads what Python's format() takes, such as "*>+10,.2f". Fails for anything malformed.
format_spec parse_format_spec(renderer& run, std::string_view text);

// Each fails where Python refuses the type or a setting for this kind of value.

/// What format(object, spec) gives; the same as as_text() for an empty one.
traced_text formatted(renderer& run, const value& object, const format_spec& spec, bool is_empty);
traced_text formatted_text(renderer& run, const traced_text& text, const format_spec& spec);
traced_text formatted_integer(renderer& run, std::int64_t number, const format_spec& spec);
traced_text formatted_real(renderer& run, double number, const format_spec& spec);

/// Python's float of the given precision: the digits of type e, f or g without a sign.
std::string digits_of(double number, char type, std::size_t precision, bool alternate);

}  // namespace cogen::text::jinja
