#pragma once

#include <boost/json/value.hpp>

#include <cstddef>

namespace server::api {

/// How many values a JSON value holds, itself included, and how many bytes its strings and names have.
struct json_size {
  std::size_t values = 0, bytes = 0;
  friend json_size operator+(json_size a, json_size b) noexcept { return {a.values + b.values, a.bytes + b.bytes}; }
};

/// Of what a body has, whose depth is limited.
json_size size_of(const boost::json::value& value);
json_size size_of(const boost::json::object& members);

}  // namespace server::api
