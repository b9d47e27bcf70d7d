#pragma once

#include <cogen/scheduler/allocation_policy.hpp>
#include <cogen/scheduler/deadline_unreachable.hpp>
#include <cogen/scheduler/plan.hpp>
#include <cogen/scheduler/preemption_policy.hpp>
#include <cogen/scheduler/scheduling_policy.hpp>
#include <cogen/scheduler/types.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// What a sequence may do, fixed when it is submitted. A fork has the same options, and has sampled as many tokens.
struct sequence_options {
  /// Sampling one of them ends the run; it is told, and not appended.
  std::vector<token> end_tokens;

  /// Tokens it may sample, over all of its runs. With none left, a sampling run feeds its tokens and is then finished.
  int max_new_tokens = std::numeric_limits<int>::max();

  /// Tokens it may hold; memory is set aside for that many while it has a slot. 0: limits.max_sequence_length.
  int max_sequence_length = 0;

  /// What an encoder reads before the first token. Null: nothing. Not counted among the tokens it holds.
  encoder_tokens encoder_input = {};

  /// How urgent it is, for a policy that goes by that: higher comes first.
  int priority = 0;

  /// Whom it is for, for a policy that divides between tenants.
  std::uint64_t tenant = 0;

  /// When each of its runs should have ended, for a policy that goes by that. time::max(): whenever.
  time deadline = time::max();

  /// Where limits.reuse is set: it begins with what slots hold of sequences of the same cache salt that reuse, too, and
  /// leaves its own tokens for them. One with an encoder input does neither.
  bool prefix_caching = true;
  std::uint64_t cache_salt = 0;

  /// The sequence goes, and its slot with it, when a run ends by itself. It may then hold, and memory is set aside for,
  /// no more than its first run needs: that run's tokens and, if it samples, max_new_tokens.
  bool release_at_end = false;
};

/// Work for one sequence: feed `tokens`, then bring `wanted`.
///
/// With output::sample the sampled token is appended and fed in turn for as long as there are credits: one credit is
/// spent for each sampled token, and without any nothing of the run is fed. After `samples` of them the run is over:
/// the sequence is idle again, and no event says so (the last token pending). With nothing to feed and nothing pending,
/// the last token is run again, which brings the same logits.
///
/// A sampling run is finished when an end token was sampled, or when the sequence may sample or hold no more; that
/// comes before `samples`. A run that wants logits ends with its last event. A row that fails finishes any run: the
/// sequence keeps what it had sampled before; where that is nothing, it is as long as it was before the run.
struct run {
  std::vector<token> tokens;
  output wanted = output::sample;
  int credits = 1;
  int samples = std::numeric_limits<int>::max();
};

/// An idle sequence as it was when it was told of.
struct resume_state {
  std::vector<token> tokens;
  int sampled = 0;                                          ///< over all runs, what was cut off since included
  std::optional<cogen::scheduler::snapshot> snapshot = {};  ///< of what it had cached, if the caller has that
  bool exact = true;                                        ///< as scheduler::exact() told
};

struct state;

/// Decides who runs in the next step: continuous batching as a machine of values.
///
/// Pure: no tensor, thread, clock or I/O; not thread-safe. Every member is legal at any time, also while plans are
/// unabsorbed. Slot lengths change through plans only. A member that throws has changed nothing, but for next() and
/// absorb(): std::bad_alloc out of them is the end of this scheduler. grant(), abandon(), truncate() and cancel() need
/// no memory.
///
/// A sequence holds its slot from its first row until it is gone, also while it is out of credits, or idle with
/// something cached, for as long as limits.idle_timeout; the preemption policy says who is preempted first, and
/// one whose tokens others share is not. Where nobody has rested for long, the order may let one that waits displace
/// one that runs, which is preempted then. What a preempted sequence has cached is swapped out, and restored when it
/// has a slot again; where there is no room for it, or a transfer fails, its tokens are run again. Memory is set aside
/// as the policy of reservation says: where that is less than a sequence may come to, and it finds no more when it
/// grows, those that rest and those that come after it are preempted. Slots and memory are given to those that wait in
/// the policy's order; the first of them is never overtaken by one that fits sooner.
///
/// Where limits.reuse is set, tokens are run once for all sequences that begin with them: a sequence that is given a
/// slot shares what other slots hold, those included that are kept of sequences that have gone, and one that has not
/// begun waits while another one is running more of its first tokens. Slots that cannot be cut anywhere
/// (limits.max_rollback_tokens) are shared where they stand; where prompts were seen to part, and in the end, what a
/// slot holds is kept.
class scheduler {
 public:
  /// Throws std::invalid_argument where a limit makes no sense; the message names it.
  explicit scheduler(const limits& limits, std::unique_ptr<scheduling_policy> scheduling_policy = fcfs(),
                     std::unique_ptr<preemption_policy> preemption_policy = longest_idle(),
                     std::unique_ptr<allocation_policy> reserves = reserve_max_length());
  ~scheduler();
  scheduler(scheduler&&) noexcept;

  /// Takes in a sequence with its first run. Throws std::length_error when it could never run (its tokens do not fit in
  /// its max_sequence_length, that is above the limit, or memory for it exceeds the budget), std::invalid_argument for
  /// negative numbers, samples of 0, a run that wants nothing or has no token to run, deadline_unreachable when the
  /// policy refuses runs that would end after their deadline.
  sequence_id submit(const sequence_options& options, run first);

  /// Takes in a sequence that holds nothing yet and takes no slot until it runs. Throws as above.
  sequence_id submit(const sequence_options& options);

  /// Takes in an idle sequence with a past; it takes no slot until it runs. Where `limits.swap_bytes` has room for its
  /// snapshot, which counts as `limits.usage` says, that is stored() from now on: the caller brings it under that name
  /// before the next plan is run. Without room, and where the snapshot holds more tokens than the sequence may, the
  /// tokens are run again. Throws as above, and std::invalid_argument where the snapshot makes no sense.
  sequence_id resume(const sequence_options& options, resume_state before);

  /// Starts a run of an idle sequence. Throws std::logic_error when it is not idle, std::length_error when it does not
  /// fit, std::invalid_argument and deadline_unreachable as above, std::out_of_range for an unknown id.
  void start(sequence_id id, run next);

  /// Lets a sampling sequence sample `credits` more tokens before it waits again. Unknown ids and idle sequences are
  /// ignored. Throws std::invalid_argument for a negative number.
  void grant(sequence_id id, int credits);

  /// Ends the run of a sequence without an event and leaves the sequence idle, with the tokens from before that run:
  /// those it has sampled in it are dropped too. Rows in flight are wasted. Unknown ids and idle sequences are ignored.
  void abandon(sequence_id id);

  /// Forgets a sequence. Its slot is free when the plans in flight that touch it are absorbed, and no fork reads its
  /// tokens any more. Unknown ids are ignored.
  void cancel(sequence_id id);

  /// Preempts an idle sequence now, whether or not another one waits; what others share of its tokens stays in its
  /// slot. Unknown ids, running sequences and those without a slot are ignored.
  void suspend(sequence_id id);

  /// What an idle sequence has cached in its slot is copied away by the next plan, among its swap-outs, under a name of
  /// its own, and stays where it is, too. It has no row meanwhile. The copy counts in no budget; a plan drops it after
  /// transferred() was told of it. Nothing happens, and nothing is given, where a sequence is unknown, runs, has no
  /// slot or is moving(). Throws std::bad_alloc.
  std::optional<kept_snapshot> copy_out(sequence_id id);

  /// A new idle sequence with the same tokens as the idle sequence `id`. What `id` has cached is not computed again:
  /// whole blocks are shared (but never the last token of all), the rest is copied. Where no slot is free or others
  /// wait for one, the new sequence has none, and computes all its tokens in its first run. Throws std::logic_error
  /// when `id` is not idle, std::out_of_range for an unknown id.
  sequence_id fork(sequence_id id);

  /// Cuts an idle sequence to its first `length` tokens. A sequence that goes on below what forks share of its slot
  /// moves to another slot; where none is free, or others wait for one, it waits too and computes its tokens again.
  /// Throws std::logic_error when `id` is not idle, std::invalid_argument for a length it does not have,
  /// std::out_of_range for an unknown id.
  void truncate(sequence_id id, int length);

  /// It is `now`: runs asked for from here on have come then. Time never goes back, neither here nor for next(); what
  /// is asked for before any time was told has come at 0.
  void advance_clock(time now);

  /// The next step, planned at `now`. Empty when there is nothing to do now: then nothing is in flight for it, and it
  /// need not be absorbed. Throws std::logic_error when `limits.depth` plans are unabsorbed.
  plan next(time now = {});

  /// The same, into a plan whose memory is used again: where it sufficed, this takes none.
  void next(time now, plan& into);

  /// When next() may bring a plan though nothing else has happened since it brought an empty one: a sequence has rested
  /// long enough for one that waits. Empty where time alone changes nothing.
  std::optional<time> wake() const;

  /// Takes in what the oldest unabsorbed plan came to: one result for each of its rows, in order, and for how long
  /// others waited for it (0: that is not known). The events come in the order of the rows. Throws std::logic_error for
  /// another plan, std::invalid_argument for another number of results.
  std::vector<event> absorb(const plan& done, std::span<const row_result> results, std::chrono::nanoseconds took = {});

  /// The same; `events`, whose memory is used again, becomes those that come.
  void absorb(const plan& done, std::span<const row_result> results, std::chrono::nanoseconds took,
              std::vector<event>& events);

  /// The oldest change of a sequence's slot that was not given yet; several changes of one sequence are one. Those of
  /// cancelled sequences are dropped. Needs no memory, and takes time in proportion to the changes alone.
  std::optional<slot_change> next_slot_change() noexcept;

  /// Nothing is kept any more of sequences that have gone, but for what others read or plans in flight name.
  void drop_prefix_cache();

  /// A swap-out or restore of a plan has ended; where it failed, nothing is kept under its name, and a slot to be
  /// filled is empty. Possible as soon as the plan was given out. Gives the sequence that it matters to, if there still
  /// is one. Throws std::out_of_range for a name that is not on its way. Needs no memory.
  std::optional<sequence_id> transferred(swap_id name, bool ok);

  /// Tokens of a sequence, sampled ones included, cached or not; valid until the next change. Throws std::out_of_range
  /// for an unknown id, as the nine below do.
  std::span<const token> tokens(sequence_id id) const;
  bool idle(sequence_id id) const;
  phase phase_of(sequence_id id) const;
  bool scheduled(sequence_id id) const;        ///< it has a slot
  bool leaving(sequence_id id) const;          ///< what it has cached is on its way out of its slot
  bool awaits_prefix(sequence_id id) const;    ///< it waits until another one has run more of its first tokens
  bool moving(sequence_id id) const;           ///< the same, or back, or is copied
  int reserved(sequence_id id) const;          ///< tokens that memory is set aside for in its slot
  bool short_of_memory(sequence_id id) const;  ///< it has a slot, and more to hold than is reserved()
  bool exact(sequence_id id) const;  ///< neither it nor one it is a fork of was restored from an inexact snapshot

  /// What it has cached and swapped out, while that is kept and on no way.
  std::optional<kept_snapshot> stored(sequence_id id) const;

  /// Tokens that its slot held, run for others, when its first row of all was planned.
  int prefix_hit_tokens(sequence_id id) const;

  std::uint64_t prefix_hit_tokens() const;  ///< the sum over all sequences there ever were
  int slot_of(sequence_id id) const;        ///< -1: it has none, or is unknown
  int live() const;                         ///< sequences accepted and not gone
  int waiting() const;                      ///< of those, how many want a slot and have none
  std::uint64_t preempted() const;          ///< how often a sequence was preempted
  std::uint64_t swapped_out() const;        ///< how often what it had cached was swapped out then
  int free_slots() const;                   ///< of limits.slots; what is kept and can go makes room for them
  int prefix_cached_slots() const;          ///< hold what is kept of sequences that have gone
  std::int64_t memory_in_use() const;       ///< bytes set aside for slots, kept ones included; shared tokens count once
  std::int64_t prefix_cached_bytes() const;  ///< of those, what would be given up as soon as others need it
  std::int64_t swap_in_use() const;          ///< bytes of limits.swap_bytes

  /// Counts everything anew. Throws std::logic_error where two parts contradict each other, which is a defect of the
  /// scheduler. For tests: it takes time in proportion to all that is live.
  void verify() const;

 private:
  std::unique_ptr<state> state_;
};

}  // namespace cogen::scheduler
