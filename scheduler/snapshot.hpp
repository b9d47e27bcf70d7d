#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// The sequence's swap entry.
kept_snapshot snapshot_of(const sequence& seq);

/// Copies what the idle sequence has cached in its slot; the slot does not change until the copy has ended.
kept_snapshot copy_out(state& sched, sequence& seq);

/// Restores the state of a new sequence; its snapshot has no swap id yet. Throws if the state is invalid or does
/// not fit.
void give_past(sequence& added, const resume_state& history);

/// Registers the snapshot of a new sequence, or drops it if there is no room.
void accept_snapshot(state& sched, sequence& seq);

}  // namespace cogen::scheduler
