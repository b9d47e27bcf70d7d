#pragma once

#include "state.hpp"

#include <optional>

namespace cogen::scheduler {

/// The sequence to preempt next so that `waits` can have a slot: one idle for long, or else one that the policy lets be
/// displaced. Null if there is none. One that was displaced itself displaces only what was asked for later, so no order
/// lets sequences displace each other without end.
sequence* next_to_leave(state& sched, const sequence& waits);

/// The sequence to preempt next so that `grows`, which has a slot, finds more memory: an idle one, or else the last of
/// those after it in order. Null if there is none.
sequence* next_victim_for_memory(state& sched, const sequence& grows);

/// When the next idle sequence may be preempted, if one waits for its slot.
std::optional<time> next_to_preempt(const state& sched);

}  // namespace cogen::scheduler
