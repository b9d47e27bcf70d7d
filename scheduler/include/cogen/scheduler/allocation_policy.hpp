#pragma once

#include <cstdint>
#include <memory>

namespace cogen::scheduler {

/// How much memory is set aside for sequences that have slots. One policy, one file; bring your own by deriving from
/// this.
class allocation_policy {
 public:
  virtual ~allocation_policy() = default;

  /// Tokens that memory is set aside for, for a sequence that has to hold `needed` of the `most` that it may ever hold.
  /// What is not between the two counts as the nearer of them.
  virtual int tokens(int needed, int most) const noexcept = 0;

  /// Of a budget of bytes, how many may be set aside when one more sequence is given a slot beside others, or something
  /// is kept.
  virtual std::int64_t high(std::int64_t budget) const noexcept { return budget; }

  /// When a sequence that has to hold more finds no memory, others leave their slots until no more than so many bytes
  /// of the budget are set aside.
  virtual std::int64_t low(std::int64_t budget) const noexcept { return budget; }
};

/// All that a sequence may ever hold, when it is given its slot: nobody ever has to leave for its growth.
std::unique_ptr<allocation_policy> reserve_max_length();

struct watermark_options {
  double high = 0.9;  ///< share of the budget up to which slots are given
  double low = 0.8;   ///< share of the budget down to which they are taken away when it is spent
  int step = 256;     ///< tokens that a sequence may grow by before it is looked at again
};

/// What a sequence has to hold next, and a step more: more of them fit beside each other than may ever end there. When
/// the budget is spent, those that rest leave their slots, and then the last in order of those that run; what they have
/// cached is swapped out, or run again. The first in order never leaves for another one.
///
/// Throws std::invalid_argument unless 0 < low <= high <= 1 and step >= 0.
std::unique_ptr<allocation_policy> watermarks(const watermark_options& options = {});

}  // namespace cogen::scheduler
