#pragma once

#include "state.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <cstdint>
#include <limits>
#include <span>

namespace cogen::scheduler {

/// The longest prefix that slots hold of it, if that has at least min_shared_prefix tokens more than it has already.
prefix_match find_known(const state& sched, const sequence& seq);

/// How many of these tokens a slot holds and can share.
int find_shareable(const state& sched, const cache_salt& salt, std::span<const token> tokens);

/// See scheduler::shareable().
shareable_prefix shareable_prefix_of(const state& sched, int slot) noexcept;

/// Gives the sequence, which has none, a slot for `tokens` tokens that starts with that prefix. False if there is no
/// room.
bool admit_with(state& sched, sequence& seq, int tokens, const prefix_match& found);

/// Evicts kept slots, except slot `but`, until such a slot could be taken. False if that is not enough.
bool reclaim(state& sched, int capacity, const slot_fork& first = {}, int but = -1);

/// Gives the sequence a free slot for `tokens` tokens, without registering its tokens in the tree; call only if it
/// fits.
void take_slot(state& sched, sequence& seq, int tokens, const slot_fork& first = {});

/// A free slot, of which no tokens are known; call only if it fits.
int take_empty_slot(state& sched, int capacity, const slot_fork& first = {});

/// Registers the tokens in its slot, for others to share once all steps so far have run.
void learn(state& sched, const sequence& seq);

/// Removes a sequence from its slot, for good. If others can share what the slot holds, it is kept.
void leave_slot(state& sched, sequence& seq);

/// Before a step: sequences that waited for a prefix that another one has computed share it now, or keep waiting.
void join_leaders(state& sched);

/// Before the first row of a sequence in its slot: shares what others hold by now. False if it has to wait, because
/// this step computes or keeps more of its first tokens.
bool begin(state& sched, sequence& seq, const step& plan);

/// Whether every slot can be cut back to any length later, so that nothing has to be kept on the way.
inline bool can_always_rewind(const state& sched) {
  return sched.within.max_rollback_tokens == std::numeric_limits<int>::max();
}

/// How many of its next tokens may run before its slot could not be cut back to the next length at which something is
/// kept: a checkpoint, or where others diverge from it.
int until_kept(const state& sched, const sequence& seq);

/// Keeps what its slot holds at such lengths, once it has reached them.
void keep_for_others(state& sched, sequence& seq);

/// Lets its slot go back to its present length later, if prompts are likely to share no more than that.
void take_checkpoint(state& sched, const sequence& seq, step& plan);

}  // namespace cogen::scheduler
