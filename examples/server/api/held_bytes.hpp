#pragma once

#include <boost/json/object.hpp>

#include <cstddef>

namespace server::api {

/// About how many bytes a request with this body holds until it has been answered, besides its prompts, which are gone
/// once they are tokenized: for each prompt once, and once for the answers.
std::size_t held_bytes(const boost::json::object& body);

}  // namespace server::api
