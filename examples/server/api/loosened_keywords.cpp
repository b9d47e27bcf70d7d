#include "api/loosened_keywords.hpp"

#include "api/valid_text.hpp"

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace server::api {
namespace {

constexpr std::size_t max_named = 20;
constexpr std::size_t max_bytes = 200;  // of a name or a path

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte > ' ' && byte < 0x7f && each != ',' && each != '%')
      result += each;
    else
      result += fmt::format("%{:02X}", byte);
    if (result.size() > max_bytes) return result + "...";
  }
  return result;
}

}  // namespace

std::string header_of(std::span<const cogen::loosened_keyword> keywords) {
  std::string result;
  for (const auto& each : keywords.first(std::min(keywords.size(), max_named))) {
    if (!result.empty()) result += ", ";
    result += percent_encoded(each.name) + " " + percent_encoded(each.path);
  }
  if (keywords.size() > max_named) result += fmt::format(", and {} more", keywords.size() - max_named);
  return result;
}

boost::json::array texts_of(std::span<const cogen::loosened_keyword> keywords) {
  boost::json::array result;
  for (const auto& each : keywords) result.emplace_back(valid_text(each.name + " " + each.path));
  return result;
}

}  // namespace server::api
