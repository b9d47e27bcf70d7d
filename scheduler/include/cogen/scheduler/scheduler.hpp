#pragma once

#include <cogen/scheduler/order.hpp>
#include <cogen/scheduler/plan.hpp>
#include <cogen/scheduler/types.hpp>

#include <memory>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// What a sequence may do, fixed when it is submitted.
struct sequence_options {
  std::vector<token> end_tokens;                            ///< sampling one of them ends the run
  int max_new_tokens = std::numeric_limits<int>::max();     ///< sampled tokens, over all of its runs
  int max_length = 0;                                       ///< tokens it may hold (memory is set aside for that many); 0: limits.max_length
  bool release_at_end = false;                              ///< the sequence goes, and its slot with it, when a run finishes
};

/// Work for one sequence: feed `tokens`, then bring `wanted`.
///
/// With output::sample the sampled token is appended and fed in turn for as long as there are credits: one credit is spent
/// for each sampled token. After `samples` of them the run is over: the sequence is idle again, and no event says so (the
/// last token pending). With nothing to feed and nothing pending, the last token is run again, which brings the same logits.
struct run {
  std::vector<token> tokens;
  output wanted = output::sample;
  int credits = 1;
  int samples = std::numeric_limits<int>::max();
};

/// Decides who runs in the next step: continuous batching as a machine of values.
///
/// Pure: no tensor, thread, clock or I/O; not thread-safe. Every member is legal at any time, also while plans are
/// unabsorbed. Slot lengths change through plans only.
class scheduler {
 public:
  /// Throws std::invalid_argument where a limit makes no sense; the message names it.
  explicit scheduler(const limits& limits, std::unique_ptr<order> order = first_come());
  ~scheduler();
  scheduler(scheduler&&) noexcept;

  /// Takes in a sequence with its first run. Throws std::length_error when it could never run (its tokens do not fit in
  /// its max_length, or memory for them exceeds the budget): then nothing has changed.
  sequence_id submit(const sequence_options& options, run first);

  /// Takes in a sequence that holds nothing yet and takes no slot until it runs.
  sequence_id submit(const sequence_options& options);

  /// Starts a run of an idle sequence. Throws std::logic_error when it is not idle, std::length_error when it does not fit.
  void start(sequence_id id, run next);

  /// Lets a sampling sequence sample `credits` more tokens before it waits again. Unknown ids are ignored.
  void grant(sequence_id id, int credits);

  /// Ends the run of a sequence without an event and leaves the sequence idle, as long as it was before that run.
  /// Rows in flight are wasted. Unknown ids are ignored.
  void abandon(sequence_id id);

  /// Forgets a sequence. Its slot is free when the plans in flight that touch it are absorbed. Unknown ids are ignored.
  void cancel(sequence_id id);

  /// A new idle sequence with the same tokens as the idle sequence `id`; whole blocks of cache are shared, the rest is copied.
  sequence_id fork(sequence_id id);

  /// Cuts an idle sequence to its first `length` tokens.
  void truncate(sequence_id id, int length);

  /// The next step. Empty when there is nothing to do now. Throws std::logic_error when `limits.depth` plans are unabsorbed.
  plan next();

  /// Takes in what the oldest unabsorbed plan came to: one result for each of its rows, in order.
  std::vector<event> absorb(const plan& done, std::span<const row_result> results);

  /// Tokens of a sequence, sampled ones included, cached or not. Throws std::out_of_range for an unknown id.
  std::span<const token> tokens(sequence_id id) const;
  bool idle(sequence_id id) const;

  int live() const;                    ///< sequences taken in and not gone
  int waiting() const;                 ///< of those, how many want a slot and have none
  int free_slots() const;
  std::int64_t memory_in_use() const;  ///< bytes set aside for the slots that are held

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace cogen::scheduler
