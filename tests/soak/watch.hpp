#pragma once

#include "client.hpp"
#include "options.hpp"

#include <cstdint>
#include <vector>

namespace cogen::soak {

/// What was seen at the end of a second.
struct moment {
  std::uint64_t deeds;    // so far
  std::int64_t resident;  // bytes
  int descriptors;
};

/// Looks on for as long as wanted, printing a line each second.
std::vector<moment> watch(const subject& setup, const tally& counts, const options& wanted);

}  // namespace cogen::soak
