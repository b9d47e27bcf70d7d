#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Tokens to reserve memory for when the sequence is given a slot.
int to_be_reserved(const state& sched, const sequence& seq);

/// Whether the sequence has a slot but can have no row, because less memory is reserved than it has to hold.
bool is_short(const sequence& seq);

/// Reserves memory for what sequences have to hold next. If there is none, others are preempted: idle ones, then the
/// last of those after it in order; or the sequence itself. Until then it is short of memory.
void grow(state& sched);

/// Whether a sequence is short of memory. Then nothing else is given the memory it waits for.
bool any_is_short(const state& sched);

}  // namespace cogen::scheduler
