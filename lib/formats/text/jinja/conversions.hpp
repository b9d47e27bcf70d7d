#pragma once

#include "formats/text/jinja/renderer.hpp"
#include "formats/text/jinja/value.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text::jinja {

/// The value with its texts not trusted. Fails for nesting deeper than a rendering can walk.
value from_json(renderer& run, const boost::json::value& source);

/// What str() gives in Python, which is also what a template writes.
traced_text as_text(renderer& run, const value& object);

/// What repr() gives in Python, for text inside containers.
std::string representation(renderer& run, const value& object);

/// What ascii() gives: the same without other characters than ASCII's.
std::string ascii_representation(renderer& run, const value& object);

/// Python's shortest spelling of a floating-point number.
std::string spelled(double number);

/// The number nearest to a decimal spelling, infinite where it is beyond all of them; "inf" and "nan", too. Nothing for
/// another text, also one with spaces or a plus sign before the number.
std::optional<double> parsed_double(std::string_view spelling);

struct json_style {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  ///< what one level is indented by; all on one line without it
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// What json.dumps() gives in Python. Fails for values that JSON does not have.
std::string as_json(renderer& run, const value& object, const json_style& style);

/// The items that a loop over the value visits: of a text its characters, of a dictionary its keys.
/// Fails for values that cannot be visited.
shared_list items_of(renderer& run, const value& object);

/// The same for an operation that visits each of them by itself, without a step for each.
shared_list visited_items(renderer& run, const value& object);

/// The characters of a text, as values that keep its trust.
std::vector<value> characters_of(renderer& run, const traced_text& text);

std::size_t character_count(std::string_view text);

/// The member of that name, or the item of that index or key: undefined where there is none.
value member_of(renderer& run, const value& object, const value& key);

}  // namespace cogen::text::jinja
