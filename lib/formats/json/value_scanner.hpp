#pragma once

#include <boost/json/stream_parser.hpp>

#include <cstdint>

namespace cogen::json {

/// Finds the end of a JSON value that arrives byte by byte.
class value_scanner {
 public:
  enum class progress : std::uint8_t {
    more,
    ended,         ///< with this byte
    ended_before,  ///< this byte, which is not part of it
    malformed,     ///< no JSON, or nested deeper than json::max_depth
  };

  value_scanner();

  progress step(char byte);

  /// The value that has ended. Then another one begins.
  boost::json::value release();

 private:
  boost::json::stream_parser parser_;
};

}  // namespace cogen::json
