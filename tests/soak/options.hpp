#pragma once

#include <optional>
#include <string>

namespace cogen::soak {

struct options {
  int seconds = 5;
  unsigned seed = 1;
  std::string subject = "toy";  // or "golden"
  int slots = 8;
  int overload = 3;     // clients for each slot
  int growth_mib = 16;  // that resident memory may grow by after the first tenth
};

/// Nothing where help was asked for. Throws std::exception, saying what is wrong.
std::optional<options> parse(int argc, char** argv);

}  // namespace cogen::soak
