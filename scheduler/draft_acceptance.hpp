#pragma once

#include "step_costs.hpp"

#include <cstdint>

namespace cogen::scheduler {

/// A step before draft tokens are added to a row of it.
struct step_outlook {
  std::int64_t tokens;  ///< that it runs
  double sampled;       ///< that it should bring
};

/// Estimates how often the draft tokens of a sequence are right. Newer ones weigh more.
class draft_acceptance {
 public:
  /// Of `judged` tokens in a row, the first `right` ones were.
  void saw(std::int64_t judged, std::int64_t right);

  /// How many draft tokens, `most` or fewer, should bring the most tokens in the time of the step; 0 where the time
  /// they take is not clearly worth what they bring. A step whose time is not known is taken to cost no more.
  std::int64_t worthwhile(std::int64_t most, const step_outlook& without, const step_costs& costs) const;

  /// How many of `count` draft tokens should be accepted.
  double expected(std::int64_t count) const;

 private:
  double right_ = 1. / 4;  // the probability that a token is right if those before it are
};

}  // namespace cogen::scheduler
