#pragma once

#include "api/field_reader.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace server::api {

/// A text of a conversation: a string, or an array of parts, whose texts are joined by ends of lines; empty if it is
/// missing. Parts of other kinds are refused by name. Throws api::error.
std::string read_content(const field_reader& fields, std::string_view name = "content");

/// The arguments of a call, as templates expect them: an object, or one as JSON in a string. Clients write a call
/// without arguments as an empty string, as null, or without the field. Throws api::error.
boost::json::object read_arguments(const field_reader& call, std::string_view name = "arguments");

}  // namespace server::api
