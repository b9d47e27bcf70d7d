#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Applies the results of a step's rows, and appends the events for their owners to its events.
void absorb_results(state& all, const step_in_flight& record, step& done);

/// Removes an ended sequence; it has no slot any more.
void forget(state& all, sequence& seq);

}  // namespace cogen::scheduler
