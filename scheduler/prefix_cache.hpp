#pragma once

#include "state.hpp"

namespace cogen::scheduler {

/// What slots hold of the tokens that a sequence is to begin with, if that is a block more than it has already.
prefix_match find_known(const state& all, const sequence& seq);

/// Gives the sequence, which has none, a slot that begins with what was found. False where there is no room.
bool admit_with(state& all, sequence& seq, const prefix_match& found);

/// Gives up of what is kept, but for slot `but`, until such a slot could be taken. False where that is not enough.
bool reclaim(state& all, int capacity, const origin& first = {}, int but = -1);

/// The sequence takes a free slot, of which nothing is known.
void take_slot(state& all, sequence& seq, const origin& first = {});

/// Others may begin with what its slot holds of its tokens, once all plans so far have run.
void learn(state& all, const sequence& seq);

/// The sequence, which has a slot, goes for ever. Where others may begin with what the slot holds, that is kept.
void leave_slot(state& all, sequence& seq);

/// Before a step: those that waited for what another one ran begin with it, or wait on.
void join_leaders(state& all);

/// Before the first row that a sequence has in its slot: it begins with what others hold by now. False where it has to
/// wait, because this plan runs or keeps more of its first tokens.
bool begin(state& all, sequence& seq, const plan& made);

/// How many of its next tokens may run before its slot could not go back to where others part from it.
int until_branch(const state& all, const sequence& seq);

/// Keeps what its slot holds where others part from it, once it has come so far.
void keep_branch(state& all, sequence& seq);

}  // namespace cogen::scheduler
