#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// What is kept of a sequence under its swap id, which it has.
kept_snapshot snapshot_of(const sequence& seq);

/// What the idle sequence has cached in its slot is copied away, and the slot stays as it is until that has ended.
kept_snapshot copy_out(state& all, sequence& seq);

/// The new sequence holds what it held before, with the snapshot at hand but under no name yet. Throws where that makes
/// no sense, or does not fit.
void give_past(sequence& added, resume_state&& before);

/// The snapshot that a new sequence was given is kept, or forgotten where there is no room for it.
void accept_snapshot(state& all, sequence& seq);

}  // namespace cogen::scheduler
