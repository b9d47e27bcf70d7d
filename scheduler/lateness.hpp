#pragma once

#include "machine.hpp"

namespace cogen::scheduler {

/// A run has just begun, and is in no queue yet: throws too_late where the policy refuses what comes too late, and this
/// would.
void refuse_late(const machine& all, const sequence& whose);

}  // namespace cogen::scheduler
