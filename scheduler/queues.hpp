#pragma once

#include "ordered_queue.hpp"
#include "sequence.hpp"

#include <list>

namespace cogen::scheduler {

/// The queue that a sequence should be in.
phase belongs_in(const sequence& each);

/// Who could have a row, by what they wait for, and who has a slot and nothing to run. A sequence is in the queue that
/// its phase names, among those that rest, or in none. Changing queues never fails: each sequence brings its own nodes.
class queues {
 public:
  explicit queues(scheduling_policy& policy)
      : waiting(policy, turn::slot), prefilling(policy, turn::prefill), ledger_(policy.divides()) {}

  /// Puts the sequence into the queue it belongs to now: at its place by order, or last of those that decode or rest.
  void place(sequence& seq) noexcept;

  /// Takes it out of its queue.
  void remove(sequence& seq) noexcept;

  // Read only.
  ordered_queue waiting;
  ordered_queue prefilling;
  std::list<sequence*> decoding;  ///< the first has waited longest
  std::list<sequence*> resting;   ///< the first has rested longest

  /// Whether a plan leaves anybody who could run with something that is not in it.
  bool left_behind(std::uint64_t plan) const noexcept;

  /// Those that rest and were not seen resting before have rested since `now`.
  void see(time now) noexcept;

  // What the counters of a policy that divides is told.

  /// A sequence of the tenant is accepted. Where this throws, it has changed nothing.
  void join(std::uint64_t tenant);
  void leave(std::uint64_t tenant) noexcept;

  /// The first that waits is about to be given a slot.
  void give_slot(sequence& first) noexcept;

  /// Tokens of it are run.
  void count(sequence& seq, std::int64_t tokens) noexcept {
    if (ledger_) tell_run(seq, tokens);
  }

  /// Of what it had to be fed when it was given its slot no more than `still` tokens are awaited any more.
  void drop(sequence& seq, std::int64_t still = 0) noexcept;

 private:
  void wait(sequence& seq) noexcept;
  void tell_run(sequence& seq, std::int64_t tokens) noexcept;
  void take_marks(std::uint64_t tenant) noexcept;

  fairness_counters* ledger_;
};

}  // namespace cogen::scheduler
