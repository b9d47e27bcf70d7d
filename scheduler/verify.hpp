#pragma once

#include "machine.hpp"

namespace cogen::scheduler {

/// Throws std::logic_error where two parts of the machine contradict each other.
void verify(const machine& all);

}  // namespace cogen::scheduler
