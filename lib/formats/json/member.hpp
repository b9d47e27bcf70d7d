#pragma once

#include <boost/json/value.hpp>

#include <string_view>

namespace cogen::json {

/// The member of an object; null if it has none or is none.
inline const boost::json::value* member(const boost::json::value& object, std::string_view key) {
  const auto* members = object.if_object();
  return members ? members->if_contains(key) : nullptr;
}

}  // namespace cogen::json
