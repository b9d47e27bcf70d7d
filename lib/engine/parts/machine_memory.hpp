#pragma once

#include <cstdint>

namespace cogen::detail {

/// Bytes of physical memory.
std::int64_t machine_memory();

}  // namespace cogen::detail
