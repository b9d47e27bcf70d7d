#pragma once

#include <cstdlib>
#include <string>

namespace cogen::test {

/// Where the tests' files lie: where they lay when the test was built, or where the environment says that they are now.
inline std::string test_data() {
  const char* const moved = std::getenv("COGEN_TEST_DATA");
  return moved != nullptr ? moved : COGEN_TEST_DATA;
}

}  // namespace cogen::test
