#pragma once

#include <cogen/scheduler/scheduling_policy.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace cogen::scheduler {

/// What a policy sees of a sequence that holds a slot.
struct holder {
  candidate run;              ///< its newest run
  std::optional<time> since;  ///< idle since then; empty while it runs
  int cached = 0;             ///< tokens in its slot, to be swapped out or recomputed
  std::int64_t bytes = 0;     ///< reserved for it
};

/// Which sequence is preempted first: among those idle for longer than limits.idle_timeout, and then among those that
/// are last in the scheduling order and that it lets be displaced. Derive from this class to add a policy. After an
/// exception from it, or if its order is found not to be strict, scheduler::next() throws std::logic_error, which ends
/// an engine with error::device_failed.
class preemption_policy {
 public:
  virtual ~preemption_policy() = default;

  /// A strict weak ordering: true if `a` is preempted before `b`. Among equals, the one idle longest is preempted
  /// first.
  virtual bool precedes(const holder& a, const holder& b) const = 0;
};

/// Preempts the sequence that has been idle longest.
std::unique_ptr<preemption_policy> longest_idle();

/// Preempts the sequence that is cheapest to resume: the one with the fewest cached tokens.
std::unique_ptr<preemption_policy> least_cached();

/// Preempts the sequence that frees the most memory, so that few have to be preempted.
std::unique_ptr<preemption_policy> largest();

}  // namespace cogen::scheduler
