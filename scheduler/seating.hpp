#pragma once

#include "machine.hpp"

namespace cogen::scheduler {

/// Gives slots to those that wait, in order, until the first that does not fit: nobody overtakes it.
void admit(machine& all);

/// The sequence, which has a slot and no tokens that are still to be sampled, leaves it: spilled, or to be run again.
void park(machine& all, sequence& whose);

/// Gives the child of a fork a slot that shares what its parent has cached, if there is one that nobody waits for.
void seat_beside(machine& all, sequence& child, const sequence& parent);

/// The sequence loses its slot, and what was cached in it or spilled.
void unseat(machine& all, sequence& whose);

/// The sequence goes for ever. What others may begin with is kept.
void depart(machine& all, sequence& whose);

/// What was spilled from the sequence has gone, or come back.
void arrive(machine& all, sequence& whose, bool ok);

/// An idle sequence keeps its slot only for what is cached there.
void rest(machine& all, sequence& whose);

enum class seat : std::uint8_t {
  ready,  ///< the slot holds exactly what is cached: a row may follow
  later,  ///< not in this plan, which still reads what the slot must forget
  lost,   ///< it had to leave its slot, and waits for another
};

/// Brings the slot of a sequence to the length that its next row begins at. What others share of it is never touched:
/// rather the sequence moves.
seat prepare(machine& all, sequence& whose, plan& into);

}  // namespace cogen::scheduler
