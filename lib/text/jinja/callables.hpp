#pragma once

#include "text/jinja/arguments.hpp"
#include "text/jinja/renderer.hpp"
#include "text/jinja/value.hpp"

#include <string_view>

namespace cogen::text::jinja {

using filter = value (*)(renderer&, const value& input, const arguments&);
using value_test = bool (*)(renderer&, const value& input, const arguments&);
using function = value (*)(renderer&, const arguments&);

// Each gives nullptr for an unknown name.

filter find_filter(std::string_view name);
value_test find_test(std::string_view name);
/// A function that templates may call without an object, such as `range`.
function find_function(std::string_view name);
/// Filters whose input is a text, a list or any iterable value; parts of find_filter.
filter find_text_filter(std::string_view name);
filter find_sequence_filter(std::string_view name);

/// Whether any kind of value has a method of that name.
bool is_method(std::string_view name);
/// Whether this value has it.
bool has_method(const value& object, std::string_view name);
/// Fails if the value has no such method.
value call_method(renderer& run, const value& object, std::string_view name, const arguments& given);

}  // namespace cogen::text::jinja
