#pragma once

#include <cstdint>
#include <memory>

namespace cogen::scheduler {

/// How much memory is reserved for sequences that hold slots. Derive from this class to add a policy. After an
/// exception from it, scheduler::next() throws std::logic_error, which ends an engine with error::device_failed.
class allocation_policy {
 public:
  virtual ~allocation_policy() = default;

  /// Tokens to reserve memory for. The sequence has to hold `needed` tokens now and can hold at most `most`. The
  /// scheduler clamps the result to [needed, most].
  virtual int tokens(int needed, int most) const = 0;

  // Asked once, by the scheduler's constructor, which throws std::invalid_argument unless 0 <= result <= budget.

  /// Bytes of `budget` that may be reserved when another sequence is given a slot beside others, or when a prefix is
  /// kept.
  virtual std::int64_t high(std::int64_t budget) const { return budget; }

  /// Bytes of `budget` at which preemption stops. It begins when a sequence grows and no memory is left.
  virtual std::int64_t low(std::int64_t budget) const { return budget; }
};

/// Reserves all that a sequence can ever hold when it is given its slot. No sequence is ever preempted for another's
/// growth.
std::unique_ptr<allocation_policy> reserve_max_length();

/// The limits of watermarks().
struct watermark_options {
  double high = 0.9;  ///< fraction of the budget up to which slots are given
  double low = 0.8;   ///< fraction of the budget down to which sequences are preempted once it is spent
  int step = 256;     ///< extra tokens reserved each time a sequence grows
};

/// Reserves what a sequence has to hold next plus `step` tokens, so more sequences run at once than could all finish.
/// When the budget is spent, idle sequences are preempted, then the running ones that are last in scheduling order.
/// What they have cached is swapped out, or recomputed. The first in order is never preempted for another sequence.
///
/// Throws std::invalid_argument unless 0 < low <= high <= 1 and step >= 0.
std::unique_ptr<allocation_policy> watermarks(const watermark_options& options = {});

}  // namespace cogen::scheduler
