#pragma once

#include "state.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <optional>
#include <vector>

namespace cogen::scheduler {

/// See scheduler::copy_out_prefixes().
std::vector<cached_prefix> copy_out_prefixes(state& sched);

/// See scheduler::restore_prefix().
std::optional<swap_id> restore_prefix(state& sched, const cached_prefix& prefix);

/// The transfer into a kept slot has failed: nothing is kept in it.
void lose_prefix(state& sched, int slot);

}  // namespace cogen::scheduler
