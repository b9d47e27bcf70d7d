#pragma once

#include <optional>
#include <string>

namespace cogen::soak {

struct options {
  int seconds = 60;
  unsigned seed = 1;
  std::string subject = "toy";  // or "golden"
  int slots = 8;
  int overload = 4;     // clients for each slot, some of which pause
  int growth_mib = 16;  // that resident memory may grow by from the second quarter of the time to the last
};

/// Nothing where help was asked for. Throws std::exception, saying what is wrong.
std::optional<options> parse(int argc, char** argv);

}  // namespace cogen::soak
