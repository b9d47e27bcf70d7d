#pragma once

#include "ordered_queue.hpp"
#include "sequence.hpp"

#include <list>

namespace cogen::scheduler {

/// The queue that a sequence should be in.
phase belongs_in(const sequence& seq);

/// The sequences that could have a row, by what they wait for, and those that hold a slot without anything to run. A
/// sequence is in the queue of its phase, among the idle ones, or in none. Changing queues never fails: each sequence
/// has its own nodes.
class queues {
 public:
  explicit queues(checked_scheduling_policy& policy)
      : waiting(policy, turn::slot), prefilling(policy, turn::prefill), ledger_(policy.divides()) {}

  /// Puts the sequence into its queue: at its place by order, or last of those that decode or rest.
  void place(sequence& seq) noexcept;

  /// Removes it from its queue.
  void remove(sequence& seq) noexcept;

  // Read only.
  ordered_queue waiting;
  ordered_queue prefilling;
  std::list<sequence*> decoding;       ///< longest wait first
  std::list<sequence*> idle_in_slots;  ///< sequences with a slot and nothing to run, the longest idle first

  /// Whether a sequence that could run has no row in the step.
  bool left_behind(std::uint64_t step) const noexcept;

  /// Sets the start of being idle to `now` for sequences that were not seen idle before.
  void see(time now) noexcept;

  // Reports to the counters of a policy that divides.

  /// A sequence of the tenant is accepted. If this throws, it has changed nothing.
  void join(std::uint64_t tenant);
  void leave(std::uint64_t tenant) noexcept;

  /// The first waiting sequence is about to be given a slot.
  void give_slot(sequence& first) noexcept;

  /// Tokens of it are run.
  void count(sequence& seq, std::int64_t tokens) noexcept {
    if (ledger_) tell_run(seq, tokens);
  }

  /// Of the tokens it had to feed when it got its slot, at most `still` will run.
  void drop(sequence& seq, std::int64_t still = 0) noexcept;

 private:
  void wait(sequence& seq) noexcept;
  void tell_run(sequence& seq, std::int64_t tokens) noexcept;
  void take_marks(std::uint64_t tenant) noexcept;

  fairness_counters* ledger_;
};

}  // namespace cogen::scheduler
