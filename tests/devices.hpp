#pragma once

#include <string>
#include <vector>

namespace cogen::test {

#ifdef COGEN_TEST_DEVICES
inline constexpr bool has_devices = true;
#else
inline constexpr bool has_devices = false;
#endif

/// The devices of this build that every machine has.
inline const std::vector<std::string> devices =
    has_devices ? std::vector<std::string>{"cpu", "reference"} : std::vector<std::string>{"cpu"};

}  // namespace cogen::test
