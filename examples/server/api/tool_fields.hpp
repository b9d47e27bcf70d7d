#pragma once

#include "api/field_reader.hpp"

#include <cogen/request.hpp>

#include <boost/json/array.hpp>

namespace server::api {

/// `tools`: functions, with an object around their description, as chats have them, or without one. What is null is
/// left out. Throws api::error.
boost::json::array read_tools(const field_reader& body);

/// `tool_choice` in the forms of OpenAI's APIs, and `parallel_tool_calls`. Where only some tools are allowed, the
/// others are left out of the request, whose tools have to be set before. Throws api::error.
void read_tool_choice(const field_reader& body, cogen::request& request);

}  // namespace server::api
