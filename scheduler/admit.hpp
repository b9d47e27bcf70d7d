#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Gives slots to waiting sequences in order, until the first that does not fit. Nothing overtakes it.
void admit(state& sched);

/// Preempts the sequence, which has a slot and no tokens that rows in flight still sample. Its cache is swapped out, or
/// will be recomputed.
void preempt(state& sched, sequence& seq);

/// Gives the child of a fork a slot that shares what its parent has cached, if one is free and none waits for it.
void admit_beside(state& sched, sequence& child, const sequence& parent);

/// Takes the sequence's slot away, and drops its cache, also a swapped-out one.
void drop_slot(state& sched, sequence& seq);

/// Removes the sequence. What others can share of its slot is kept.
void release_sequence(state& sched, sequence& seq);

/// A swap-out or swap-in of the sequence has ended.
void end_swap(state& sched, sequence& seq, bool ok);

/// Frees the slot of an idle sequence if nothing is cached there.
void make_idle(state& sched, sequence& seq);

enum class admission_result : std::uint8_t {
  ready,  ///< the slot holds exactly what is cached: a row may follow
  later,  ///< not in this step, which still reads tokens that the slot must drop
  lost,   ///< it lost its slot, and waits for another
};

/// Cuts or fills the slot of a sequence to the length at which its next row begins. What others share of it is never
/// changed; if that is in the way, the sequence moves.
admission_result prepare(state& sched, sequence& seq, step& plan);

}  // namespace cogen::scheduler
