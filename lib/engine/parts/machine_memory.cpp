#include "engine/parts/machine_memory.hpp"

#include <unistd.h>

namespace cogen::detail {

std::int64_t machine_memory() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace cogen::detail
