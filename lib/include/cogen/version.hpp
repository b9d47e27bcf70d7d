#pragma once

#include <string_view>

namespace cogen {

/// Major, minor and patch number. CMake takes the project's version from here.
inline constexpr std::string_view version = "0.1.0";

}  // namespace cogen
