#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cogen::simulation {

struct options {
  std::uint64_t seeds = 10'000;
  std::uint64_t first = 1;
  std::optional<std::uint64_t> replay;
  std::vector<int> actions;  ///< of the replayed history; empty: all
  unsigned jobs = 1;
  bool help = false;
};

/// Throws std::invalid_argument, naming the argument, where one makes no sense.
options parse(int count, const char* const* arguments);

/// What --help prints of a program of this name.
std::string usage(const std::string& name, const std::string& about);

}  // namespace cogen::simulation
