#pragma once

#include <boost/json/value.hpp>

#include <string>

namespace server::api {

/// The value as JSON. Numbers that are neither huge nor tiny are written without exponents, and so that they are read
/// back as they are; integers stay integers, and others have a point.
std::string json_text(const boost::json::value& value);
std::string json_text(const boost::json::object& fields);
std::string json_text(const boost::json::array& values);

/// The same for one number, without a point where it is an integer.
std::string number_text(double number);

}  // namespace server::api
