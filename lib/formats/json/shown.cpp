#include "formats/json/shown.hpp"

#include "formats/json/printable.hpp"

#include <boost/json/serialize.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace cogen::json {

std::string shown(const boost::json::value& value) {
  const auto* const number = value.if_double();
  const bool is_plain = number && (*number == 0 || (std::abs(*number) >= 1e-6 && std::abs(*number) < 1e21));
  if (!is_plain) return printable(boost::json::serialize(value));
  std::array<char, 64> digits;
  return {digits.begin(), std::to_chars(digits.begin(), digits.end(), *number, std::chars_format::fixed).ptr};
}

}  // namespace cogen::json
