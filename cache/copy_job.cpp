#include "copy_job.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::cache {

void check(std::span<const byte_copy> copies) {
  for (const byte_copy& copy : copies)
    if (copy.from.size() != copy.to.size())
      throw std::invalid_argument("transfer: " + std::to_string(copy.from.size()) + " bytes cannot be copied to " +
                                  std::to_string(copy.to.size()));
}

void run(std::span<const byte_copy> copies) {
  for (const byte_copy& copy : copies) std::copy(copy.from.begin(), copy.from.end(), copy.to.begin());
}

void immediate_transfer::start(std::vector<byte_copy> copies, callback done) {
  check(copies);
  run(copies);
  done(nullptr);
}

}  // namespace cogen::cache
