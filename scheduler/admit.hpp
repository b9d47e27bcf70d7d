#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// Gives slots to those that wait, in order, until the first that does not fit: nobody overtakes it.
void admit(state& all);

/// The sequence, which has a slot and no tokens that are still to be sampled, leaves it: swapped out, or to be run
/// again.
void preempt(state& all, sequence& seq);

/// Gives the child of a fork a slot that shares what its parent has cached, if there is one that nobody waits for.
void admit_beside(state& all, sequence& child, const sequence& parent);

/// The sequence loses its slot, and what was cached in it or swapped out.
void unseat(state& all, sequence& seq);

/// The sequence goes for ever. What others may begin with is kept.
void depart(state& all, sequence& seq);

/// What was swapped out from the sequence has gone, or come back.
void arrive(state& all, sequence& seq, bool ok);

/// An idle sequence keeps its slot only for what is cached there.
void rest(state& all, sequence& seq);

enum class admission_result : std::uint8_t {
  ready,  ///< the slot holds exactly what is cached: a row may follow
  later,  ///< not in this plan, which still reads what the slot must forget
  lost,   ///< it had to leave its slot, and waits for another
};

/// Brings the slot of a sequence to the length that its next row begins at. What others share of it is never touched:
/// rather the sequence moves.
admission_result prepare(state& all, sequence& seq, plan& into);

}  // namespace cogen::scheduler
