#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Throws std::logic_error where two parts of the machine contradict each other.
void verify(const state& all);

}  // namespace cogen::scheduler
