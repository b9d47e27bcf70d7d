#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// A run has just begun, and is in no queue yet: throws deadline_unreachable where the policy refuses what comes too
/// late, and this would.
void refuse_unreachable(const state& all, const sequence& seq);

}  // namespace cogen::scheduler
