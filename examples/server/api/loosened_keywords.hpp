#pragma once

#include <cogen/response_format.hpp>

#include <boost/json/array.hpp>

#include <span>
#include <string>

namespace server::api {

/// The keywords as a header: each with its path, as in "uniqueItems lookup#/properties/x", between commas. What is not
/// printable ASCII, white space, commas and percent signs of paths are percent-encoded. At most 20 are named, and then
/// how many more there are.
std::string header_of(std::span<const cogen::loosened_keyword> keywords);

/// The same for the log.
boost::json::array texts_of(std::span<const cogen::loosened_keyword> keywords);

}  // namespace server::api
