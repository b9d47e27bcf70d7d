#pragma once

#include "sequence.hpp"

#include <list>
#include <set>

namespace cogen::scheduler {

struct by_order {
  const order* policy;

  bool operator()(const sequence* a, const sequence* b) const;
};

/// The queue that a sequence should be in.
phase belongs_in(const sequence& each);

/// Who could have a row, by what they wait for, and who has a slot and nothing to run. A sequence is in the queue that
/// its phase names, among those that rest, or in none. Changing queues never fails: each sequence brings its own nodes.
class queues {
 public:
  explicit queues(const order& policy) : waiting(by_order{&policy}), prefilling(by_order{&policy}) {}

  /// Puts the sequence into the queue it belongs to now: at its place by order, or last of those that decode or rest.
  void place(sequence& whose) noexcept;

  /// Takes it out of its queue.
  void remove(sequence& whose) noexcept;

  // Read only.
  std::set<sequence*, by_order> waiting;
  std::set<sequence*, by_order> prefilling;
  std::list<sequence*> decoding;  ///< the first has waited longest
  std::list<sequence*> resting;   ///< the first has rested longest

  /// Those that rest and were not seen resting before have rested since `now`.
  void see(time now) noexcept;
};

}  // namespace cogen::scheduler
