#pragma once

#include <cogen/scheduler/scheduling_policy.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace cogen::scheduler {

/// What a policy sees of a sequence that has a slot and may have to leave it.
struct holder {
  candidate run;              ///< its newest one
  std::optional<time> since;  ///< it has rested since then; empty: it runs
  int cached = 0;             ///< tokens that its slot holds: to be swapped out, or run again
  std::int64_t bytes = 0;     ///< set aside for it
};

/// Who leaves first of those that may have to: of those that have rested for long, and then of those that the order
/// ranks lowest among the ones that it lets be displaced. One policy, one file; bring your own by deriving from this.
class preemption_policy {
 public:
  virtual ~preemption_policy() = default;

  /// A strict weak order: true when `a` leaves before `b`. Of equals, the one that has rested longest leaves first.
  virtual bool before(const holder& a, const holder& b) const noexcept = 0;
};

/// Whoever has rested longest leaves first.
std::unique_ptr<preemption_policy> longest_idle();

/// Whoever is brought back with the least work leaves first: the one with the fewest tokens cached.
std::unique_ptr<preemption_policy> least_cached();

/// Whoever frees the most memory leaves first: then few have to.
std::unique_ptr<preemption_policy> largest();

}  // namespace cogen::scheduler
