#pragma once

#include <cogen/detail/scheduler/types.hpp>

namespace cogen::scheduler {

/// Returns the limits. Throws std::invalid_argument, naming the limit, the value and what is allowed.
const limits& checked(const limits& within);

}  // namespace cogen::scheduler
