#include "formats/json/value_scanner.hpp"

#include "formats/json/parse.hpp"

#include <utility>

namespace cogen::json {
namespace {

boost::json::parse_options depth_limit() {
  boost::json::parse_options options;
  options.max_depth = max_depth;
  return options;
}

}  // namespace

value_scanner::value_scanner() : parser_({}, depth_limit()) {}

value_scanner::progress value_scanner::step(char byte) {
  boost::json::error_code error;
  const auto read = parser_.write_some(&byte, 1, error);
  if (error) return progress::malformed;
  if (!parser_.done()) return progress::more;
  return read == 1 ? progress::ended : progress::ended_before;
}

boost::json::value value_scanner::release() {
  auto value = parser_.release();
  parser_.reset();
  return value;
}

}  // namespace cogen::json
