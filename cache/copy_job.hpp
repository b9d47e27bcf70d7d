#pragma once

#include <cogen/detail/cache/transfer.hpp>

#include <span>
#include <vector>

namespace cogen::cache {

/// The arguments of one call of transfer::start.
struct copy_job {
  std::vector<byte_copy> copies;
  transfer::callback done;
};

/// Throws std::invalid_argument if the two sides of a copy differ in size.
void check(std::span<const byte_copy> copies);

void run(std::span<const byte_copy> copies);

}  // namespace cogen::cache
