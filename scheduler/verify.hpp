#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Throws std::logic_error if two parts of the state contradict each other.
void verify(const state& sched);

}  // namespace cogen::scheduler
