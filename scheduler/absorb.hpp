#pragma once

#include "state.hpp"

#include <span>
#include <vector>

namespace cogen::scheduler {

/// Applies the results of a plan's rows, and appends the events for their owners to `events`.
void absorb_results(state& all, const plan_in_flight& done, std::span<const row_result> results,
                    std::vector<event>& events);

/// Removes an ended sequence; it has no slot any more.
void forget(state& all, sequence& seq);

}  // namespace cogen::scheduler
