#include "copy_job.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::cache {

void check(std::span<const byte_copy> copies) {
  for (const byte_copy& copy : copies)
    if (copy.source.size() != copy.target.size())
      throw std::invalid_argument("transfer: " + std::to_string(copy.source.size()) + " bytes cannot be copied to " +
                                  std::to_string(copy.target.size()));
}

void run(std::span<const byte_copy> copies) {
  for (const byte_copy& copy : copies) std::copy(copy.source.begin(), copy.source.end(), copy.target.begin());
}

void immediate_transfer::start(std::vector<byte_copy> copies, callback done) {
  check(copies);
  run(copies);
  done(nullptr);
}

}  // namespace cogen::cache
