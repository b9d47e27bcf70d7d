#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Throws deadline_unreachable if the policy refuses late runs and this one, which has just begun and is in no queue
/// yet, would end too late.
void refuse_unreachable(const state& sched, const sequence& seq);

}  // namespace cogen::scheduler
