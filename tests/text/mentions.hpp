#pragma once

#include <string>
#include <string_view>

namespace cogen::text {

inline bool mentions(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

}  // namespace cogen::text
