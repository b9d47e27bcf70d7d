#pragma once

#include <boost/json/value.hpp>

#include <string>

/// A value as JSON, without spaces or with those that JSON allows. A number that is not an integer by its spelling
/// stays one.
std::string json_text(const boost::json::value& value, bool with_spaces);
