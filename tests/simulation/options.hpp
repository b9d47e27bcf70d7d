#pragma once

#include <cstdint>
#include <optional>

namespace cogen::scheduler::simulate {

struct options {
  std::uint64_t seeds = 10'000;
  std::uint64_t first = 1;
  std::optional<std::uint64_t> replay;
  unsigned jobs = 1;
  bool help = false;
};

/// Throws std::invalid_argument, naming the argument, where one makes no sense.
options parse(int count, const char* const* arguments);

extern const char* const usage;

}  // namespace cogen::scheduler::simulate
