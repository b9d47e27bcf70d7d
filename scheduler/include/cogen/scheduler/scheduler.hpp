#pragma once

#include <cogen/detail/scheduler/step.hpp>
#include <cogen/detail/scheduler/types.hpp>
#include <cogen/policy.hpp>
#include <cogen/scheduler/cache_salt.hpp>
#include <cogen/scheduler/deadline_unreachable.hpp>
#include <cogen/scheduler/token_list.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// The options of a sequence, fixed when it is submitted. A fork has the same options and starts with the same count of
/// sampled tokens.
struct sequence_options {
  /// Sampling one of these ends the run; it is reported, but not appended.
  std::vector<token> end_tokens = {};

  /// Tokens it may sample over all of its runs. Once none are left, a sampling run feeds its tokens and finishes.
  int max_new_tokens = std::numeric_limits<int>::max();

  /// Tokens it may hold; memory is reserved for them while it holds a slot. 0: limits.max_sequence_length.
  int max_sequence_length = 0;

  /// What an encoder reads before the first token. Null: nothing. Not counted among the tokens the sequence holds.
  encoder_tokens encoder_input = {};

  /// For policies that use priorities: higher comes first.
  int priority = 0;

  /// For policies that divide service between tenants.
  std::uint64_t tenant = 0;

  /// When each of its runs should have ended, for policies that use deadlines. time::max(): no deadline.
  time deadline = time::max();

  /// If limits.prefix_caching is set: shares prefixes with sequences of the same cache salt that set this, too, and
  /// leaves its own tokens for them. A sequence with an encoder input does neither.
  bool prefix_caching = true;
  cogen::scheduler::cache_salt cache_salt = {};

  /// The fewest tokens that it shares with others, waits for, and leaves for them. 0: limits::min_shared_prefix(), but
  /// it waits for a block.
  int min_shared_prefix = 0;

  /// Removes the sequence and frees its slot when a run ends by itself. It may then hold, and reserves memory for, only
  /// what its first run needs: the run's tokens and, if it samples, max_new_tokens.
  bool release_at_end = false;
};

/// Work for one sequence: feed `tokens`, then produce `wanted`.
///
/// With output::sample, each sampled token is appended and fed in turn while there are credits. Each sampled token
/// costs one credit; with none left, nothing of the run is fed. After `samples` tokens, not counting accepted draft
/// tokens, the run is over: the sequence is idle again with its last token still to be fed, and no event reports that.
/// With nothing to feed and no token pending, the last token is run again, which gives the same logits.
///
/// A sampling run is finished when an end token is sampled, or when the sequence may sample or hold no more, even
/// before `samples` is reached. A run that wants logits ends with its last event. A failing row finishes any run. The
/// sequence keeps the tokens the run had sampled; if there are none, it returns to its length before the run.
struct run {
  std::vector<token> tokens;
  output wanted = output::sample;
  int credits = 1;
  int samples = std::numeric_limits<int>::max();

  /// Lengths of the sequence, ascending, from which others may continue in another way: ends of messages. What its slot
  /// holds there is kept, if slots cannot be cut back later (limits.max_rollback_tokens) and no other slot holds all of
  /// it but a twentieth, or less than a block if that is shorter. Where others hold all but less than a block, nothing
  /// is dropped for it. Only lengths before the run's last token count.
  std::vector<int> checkpoints = {};

  /// For output::sample: also wants the logits after each of `tokens` but the last, to score the token that follows
  /// there. Those tokens are run, whatever other slots hold of them. If it may sample none, it wants the last's, too.
  bool scores_prompt = false;
};

/// The saved state of an idle sequence.
struct resume_state {
  std::vector<token> tokens;
  int sampled = 0;                                          ///< over all runs, including tokens truncated since
  std::optional<cogen::scheduler::snapshot> snapshot = {};  ///< of what it had cached, if the caller has it
  bool exact = true;                                        ///< as scheduler::exact() reported
};

/// A prefix that is kept in a slot, or that was copied out of one.
struct cached_prefix {
  cogen::scheduler::cache_salt cache_salt = {};
  token_list tokens;
  cogen::scheduler::snapshot snapshot;  ///< of the slot; it has all of the tokens, and may have more
  swap_id name = {};                    ///< of the copy
};

/// What a slot holds for others to share.
struct shareable_prefix {
  cogen::scheduler::cache_salt cache_salt = {};
  token_list tokens;
};

struct state;

/// Decides which sequences run in the next step: continuous batching as a state machine.
///
/// No tensors, threads, clocks or I/O. Not thread-safe. Every member may be called at any time, also while steps are
/// unabsorbed. Slot lengths change only through steps. A member that throws has changed nothing, except next() and
/// absorb(): after std::bad_alloc from one of them, or once next() has reported that a policy broke its contract, the
/// scheduler can only be destroyed. grant(), abandon(), truncate() and cancel() allocate no memory.
///
/// A sequence holds its slot from its first row until it ends. While it is out of credits, or idle with tokens cached,
/// it holds the slot for at most limits.idle_timeout if others wait. The preemption policy chooses which sequence is
/// preempted; one whose tokens others share is not. If no sequence has been idle that long, the scheduling policy may
/// let a waiting run displace a running one. What a preempted sequence has cached is swapped out, and restored when it
/// gets a slot again. If there is no room for it, or a transfer fails, its tokens are recomputed.
///
/// The allocation policy says how much memory is reserved. If a sequence has to grow beyond its reservation and no
/// memory is left, idle sequences and those later in order are preempted. Waiting sequences get slots and memory in the
/// policy's order; the first of them is never overtaken by one that would fit sooner.
///
/// With limits.prefix_caching, tokens that several sequences begin with are computed once. A sequence that gets a slot
/// shares the prefixes that other slots hold, also those kept of ended sequences. A sequence that has not begun waits
/// while another one computes more of its first tokens. Slots that cannot be cut to any length
/// (limits.max_rollback_tokens) are shared at the lengths where they stand; they are kept at checkpoints, where prompts
/// were seen to diverge, and at their ends; and at whole blocks of prompts, within limits.checkpoint_bytes.
class scheduler {
 public:
  /// Throws std::invalid_argument for an invalid limit, also of the allocation policy; the message names it.
  explicit scheduler(const limits& limits, std::unique_ptr<scheduling_policy> scheduling_policy = fcfs(),
                     std::unique_ptr<preemption_policy> preemption_policy = longest_idle(),
                     std::unique_ptr<allocation_policy> reserves = reserve_max_length());
  ~scheduler();
  scheduler(scheduler&&) noexcept;

  /// Submits a sequence with its first run. Throws std::length_error if it could never run: its tokens do not fit in
  /// its max_sequence_length, that exceeds the limit, or its memory exceeds the budget. Throws std::invalid_argument
  /// for negative numbers, samples of 0, checkpoints that do not ascend, and a run that wants nothing or has no token
  /// to run. Throws deadline_unreachable if the policy refuses the run.
  sequence_id submit(const sequence_options& options, run first);

  /// Submits a sequence without tokens; it takes no slot until it runs. Throws as above.
  sequence_id submit(const sequence_options& options);

  /// Submits an idle sequence with earlier tokens; it takes no slot until it runs. If limits.swap_bytes has room for
  /// its snapshot, measured by limits.usage, then stored() names the entry under which the caller must provide it
  /// before the next step is executed. Otherwise, or if the snapshot holds more tokens than the sequence may, the
  /// tokens are recomputed. Throws as above, and std::invalid_argument for an invalid snapshot.
  sequence_id resume(const sequence_options& options, const resume_state& history);

  /// Starts a run of an idle sequence. Throws std::logic_error if it is not idle, std::length_error if the run does not
  /// fit, std::invalid_argument and deadline_unreachable as above, std::out_of_range for an unknown id.
  void start(sequence_id id, run next);

  /// Lets a sampling sequence sample `credits` more tokens before it pauses again. Ignores unknown ids and idle
  /// sequences. Throws std::invalid_argument for a negative number.
  void grant(sequence_id id, int credits);

  /// Sets the draft tokens of a sequence that samples: guesses at the tokens after its last one. Its next row that
  /// samples runs as many of them, the first ones, as there is room for: in the step and its limits.max_draft_tokens,
  /// in the memory reserved for the sequence, in its credits and in limits.max_row_drafts(). If `only_if_faster`, it
  /// runs only those with which the step should bring the most tokens in its time, chosen over all sequences together,
  /// by the times that absorb() was given and by how often each one's earlier drafts were right, whether run or not.
  /// Tokens that are sampled do not depend on drafts. They are dropped with that row, and when the sequence changes in
  /// another way. Ignores unknown ids, runs that do not sample, and sequences with rows in flight that sample.
  void propose(sequence_id id, std::vector<token> drafts, bool only_if_faster = false);

  /// With limits.depth 2 and limits.run_ahead: whether a row of the sequence may be planned while another one in flight
  /// still samples the token that it runs, as it may at first. If not, the sequence waits until that one is absorbed,
  /// and each of its rows can have draft tokens. Ignores unknown ids.
  void run_ahead(sequence_id id, bool allowed);

  /// Ends the run of a sequence without an event. The sequence becomes idle with the tokens from before that run;
  /// tokens sampled in the run are dropped, too. Results of rows in flight are discarded. Ignores unknown ids and idle
  /// sequences.
  void abandon(sequence_id id);

  /// Removes a sequence. Its slot is free once the steps in flight that touch it are absorbed and no fork reads its
  /// tokens. Ignores unknown ids.
  void cancel(sequence_id id);

  /// Preempts an idle sequence now, whether or not another one waits. Tokens that others share stay in its slot.
  /// Ignores unknown ids, running sequences and those without a slot.
  void suspend(sequence_id id);

  /// Copies what an idle sequence has cached to a new swap entry, in the next step's swap-outs; the sequence also keeps
  /// its slot. It has no row until the copy ends. The copy counts against no budget, and a step drops it after
  /// on_swap_done() reported it. Does nothing and returns nothing if the sequence is unknown, runs, has no slot or is
  /// moving(). Throws std::bad_alloc.
  std::optional<kept_snapshot> copy_out(sequence_id id);

  /// A new idle sequence with the same tokens as the idle sequence `id`. What `id` has cached is not recomputed: whole
  /// blocks are shared (but never the last token of all), the rest is copied. If no slot is free, or others wait for
  /// one, the new sequence has none and computes all its tokens in its first run. Throws std::logic_error if `id` is
  /// not idle, std::out_of_range for an unknown id.
  sequence_id fork(sequence_id id);

  /// Cuts an idle sequence to its first `length` tokens. If forks share more of its slot than that, it moves to another
  /// slot when it goes on. If none is free, or others wait for one, it waits and recomputes its tokens. Throws
  /// std::logic_error if `id` is not idle, std::invalid_argument for a length it does not have, std::out_of_range for
  /// an unknown id.
  void truncate(sequence_id id, int length);

  /// Sets the time at which later requests arrive. Time never goes back, neither here nor in next(). Requests made
  /// before the first call arrive at 0.
  void advance_clock(time now);

  /// The next step, planned at `now`. An empty step means that nothing can run now; it is not in flight and need not be
  /// absorbed. Throws std::logic_error if limits.depth steps are unabsorbed, and if a policy has broken its contract.
  step next(time now = {});

  /// As above, into a step whose memory is reused: allocates nothing if that suffices.
  void next(time now, step& plan);

  /// When to call next() again after an empty step, if nothing else happens: an idle sequence's slot may then be taken
  /// for one that waits. Empty if time alone changes nothing.
  std::optional<time> wake() const;

  /// Absorbs the oldest unabsorbed step once it has been executed: reads what its rows sampled, and sets its events,
  /// which it returns. `took` is how long the step took for those that waited for it (0: unknown). Throws
  /// std::logic_error for another step, std::invalid_argument if it has another number of rows than was planned, or a
  /// late one that another row is chained to.
  std::span<const event> absorb(step& done, std::chrono::nanoseconds took = {});

  /// Absorbs what a late row sampled, whose step was absorbed, and returns the events of that. Until then its run waits
  /// as if the row were in flight: the sequence keeps its slot, is not ready, and can be abandoned or cancelled. If the
  /// run has ended meanwhile, nothing happens.
  std::vector<event> absorb(const late_sample& sample);

  /// The oldest transition of a sequence that was not returned yet. What happened to one sequence meanwhile is reported
  /// as at most two: it was preempted, and it has a slot. Transitions of removed sequences are dropped. Allocates no
  /// memory.
  std::optional<transition> next_transition() noexcept;

  /// Copies what is kept of ended sequences to new swap entries, in the next step's swap-outs, least recently used
  /// first. Slots that a step in flight names, or that are in transfer, are left out, and so is all for which there is
  /// no memory. Until its copy ends, a slot is not shared. Copies count against no budget, and a step drops them after
  /// on_swap_done() reported them. Throws std::bad_alloc.
  std::vector<cached_prefix> copy_out_prefixes();

  /// Fills a slot with such a copy, in the next step's swap-ins, and keeps it as if its sequence had ended. The caller
  /// must provide the copy under the returned name before that step is executed. Nothing is returned, and nothing
  /// happens, if there is no slot or memory for it, while sequences wait for one, and without limits.prefix_caching.
  /// Throws std::invalid_argument for a snapshot that is inexact or does not have the tokens, and std::bad_alloc.
  std::optional<swap_id> restore_prefix(const cached_prefix& prefix);

  /// How many tokens, first ones of these but not the last, a sequence of that cache salt would share now.
  int cached_prefix_length(const cache_salt& salt, std::span<const token> tokens) const;

  /// What a slot, from 0 to limits.all_slots() - 1, holds for others to share once all steps so far have run. Of slots
  /// that cannot be cut to any length (limits.max_rollback_tokens), others may share less. Allocates no memory.
  shareable_prefix shareable(int slot) const noexcept;

  /// Drops what is kept of ended sequences, except what others read or steps in flight name.
  void drop_prefix_cache();

  /// Reports that a swap-out or swap-in of a step has ended. If it failed, its swap entry is gone, and a slot to be
  /// filled is empty. May be called as soon as the step was returned. Throws std::out_of_range for a name that is not
  /// in transfer. Allocates no memory.
  swap_end on_swap_done(swap_id name, bool ok);

  /// The tokens of a sequence, sampled ones included, cached or not. Valid until the next change; a copy shares the
  /// memory and stays as it is. Throws std::out_of_range for an unknown id, as do the members below that take one,
  /// except slot_of().
  const token_list& tokens(sequence_id id) const;

  bool idle(sequence_id id) const;             ///< it has no run
  phase phase_of(sequence_id id) const;        ///< what it waits for
  bool scheduled(sequence_id id) const;        ///< it holds a slot
  bool is_swapping_out(sequence_id id) const;  ///< its cache is being moved out of its slot
  bool awaits_prefix(sequence_id id) const;    ///< it waits until another one has computed more of its first tokens
  bool in_transfer(sequence_id id) const;      ///< its cache is being swapped out, swapped in or copied
  int reserved(sequence_id id) const;          ///< tokens that memory is reserved for in its slot
  bool short_of_memory(sequence_id id) const;  ///< it holds a slot and needs more than reserved()
  bool exact(
      sequence_id id) const;  ///< neither it nor a sequence it was forked from was restored from an inexact snapshot

  /// Its swapped-out cache, while that is kept and not in transfer.
  std::optional<kept_snapshot> stored(sequence_id id) const;

  /// Tokens found in the prefix cache when its first row was planned.
  int prefix_hit_tokens(sequence_id id) const;

  std::uint64_t prefix_hit_tokens() const;   ///< the sum over all sequences so far
  std::uint64_t draft_tokens() const;        ///< run so far
  std::uint64_t accepted_drafts() const;     ///< of those, how many were sampled
  int slot_of(sequence_id id) const;         ///< -1: it has none, or is unknown
  int live() const;                          ///< sequences that were accepted and have not ended
  int waiting() const;                       ///< of those, how many want a slot and have none
  std::uint64_t preempted() const;           ///< how often a sequence was preempted
  std::uint64_t swapped_out() const;         ///< how often a preempted sequence's cache was swapped out
  int free_slots() const;                    ///< of limits.slots; slots that can be given up for others count as free
  int prefix_cached_slots() const;           ///< slots that hold the prefixes of ended sequences
  std::int64_t memory_in_use() const;        ///< bytes reserved for slots, kept ones included; shared tokens count once
  std::int64_t prefix_cached_bytes() const;  ///< of those, bytes given up as soon as others need them
  std::int64_t swap_in_use() const;          ///< bytes used of limits.swap_bytes

  /// Recounts everything. Throws std::logic_error on a contradiction, which is a defect of the scheduler. For tests:
  /// takes time in proportion to all that is live.
  void verify() const;

 private:
  std::unique_ptr<state> state_;
};

}  // namespace cogen::scheduler
