#pragma once

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace curves {

/// One JSON object on standard output.
inline void print(const boost::json::object& line) {
  fmt::print("{}\n", boost::json::serialize(line));
  std::fflush(stdout);
}

/// How far it has come, on standard error.
template <class... Arguments>
void progress(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::print(stderr, "{}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace curves
