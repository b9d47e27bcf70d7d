#pragma once

#include <boost/json/value.hpp>

#include <string>

namespace cogen::json {

/// A value from a file as a message shows it: printable(), with numbers that are neither huge nor tiny without
/// exponents.
std::string shown(const boost::json::value& value);

}  // namespace cogen::json
