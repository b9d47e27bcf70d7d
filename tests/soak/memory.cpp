#include "memory.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <unistd.h>

namespace cogen::soak {

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t whole = 0, resident = 0;
  if (!(file >> whole >> resident)) throw std::runtime_error("/proc/self/statm cannot be read");
  return resident * sysconf(_SC_PAGE_SIZE);
}

int open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

}  // namespace cogen::soak
