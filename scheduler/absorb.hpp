#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Applies the results of a step's rows, and appends the events for their owners to its events.
void absorb_results(state& sched, const step_record& record, step& done);

/// Throws std::invalid_argument for a late row that another one is chained to.
void check_late_rows(state& sched, const step_record& record, const step& done);

/// Applies what a late row sampled in the end.
std::vector<event> absorb_late(state& sched, const late_sample& sample);

/// Removes an ended sequence; it has no slot any more.
void forget(state& sched, sequence& seq);

}  // namespace cogen::scheduler
