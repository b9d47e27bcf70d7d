#pragma once

#include <cstdint>

namespace cogen::detail {

/// Bytes that the machine has.
std::int64_t machine_memory();

}  // namespace cogen::detail
