#pragma once

#include "formats/json/json_error.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <string_view>

namespace cogen::json {

/// The deepest nesting that is read.
inline constexpr std::size_t max_depth = 64;

/// Parses a JSON text in UTF-8. `name` stands for it in messages. Throws json_error with the place of the first
/// mistake.
boost::json::value parse(std::string_view text, std::string_view name, boost::json::storage_ptr memory = {});

/// As parse(), but also refuses a key that is twice in one object.
boost::json::value parse_with_unique_keys(std::string_view text, std::string_view name);

/// Throws json_error unless the parser took the whole text without an error.
void require_parsed(std::string_view text, std::string_view name, std::size_t read,
                    const boost::json::error_code& error);

}  // namespace cogen::json
