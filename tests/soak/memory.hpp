#pragma once

#include <cstdint>

namespace cogen::soak {

/// Bytes of this process that are in memory.
std::int64_t resident_bytes();

/// Files and sockets that this process has open.
int open_descriptors();

}  // namespace cogen::soak
