#pragma once

#include "draft_costs.hpp"

#include <cstdint>
#include <vector>

namespace cogen::scheduler {

/// Estimates how often the draft tokens of a sequence are right. Newer ones weigh more.
class draft_acceptance {
 public:
  /// Of `judged` tokens in a row, the first `right` ones were.
  void saw(std::int64_t judged, std::int64_t right);

  /// The probability that a draft token behind `position` others is accepted, with all of those.
  double likelihood(std::int64_t position) const;

  /// How many of `most` draft tokens are at least so likely to be accepted.
  std::int64_t count(std::int64_t most, double min_likelihood) const;

 private:
  double first_ = 1. / 4;  // the probability that the first one is right
  double later_ = 1. / 2;  // and another one, if those before it are
};

/// A step before draft tokens are added that have to be worth their time.
struct step_outlook {
  std::int64_t rows;
  std::int64_t drafts;  ///< that are run in any case, and should be accepted
};

/// Of draft tokens with these `likelihoods`, which it sorts, the least likely one of those with which the step brings
/// the most tokens in its time. Draft tokens are taken to cost a quarter more than they should. Above 1: there are
/// none.
double min_worthwhile_likelihood(std::vector<double>& likelihoods, const step_outlook& without,
                                 const draft_costs::estimate& costs);

}  // namespace cogen::scheduler
