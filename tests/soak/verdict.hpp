#pragma once

#include "watch.hpp"

#include <string>

namespace cogen::soak {

/// Seconds of a run in which everything that clients do must have happened, and after which memory may not grow.
constexpr int long_enough = 60;

/// Requests for each slot, on average, below which it was not an overload.
constexpr double min_overload = 2;

/// What was expected and did not come true, printed as it is found.
class verdict {
 public:
  void expect(bool met, const std::string& otherwise);
  bool well() const { return well_; }

 private:
  bool well_ = true;
};

/// That every operation was answered as it should be, and the idle engine holds nothing any more.
void judge_end(verdict& all_in_all, const subject& setup, const tally& counts, const options& wanted);

/// That memory and descriptors were flat. Memory from the second quarter of the time on, if that is long enough.
void judge_course(verdict& all_in_all, const std::vector<moment>& seen, const options& wanted);

/// That there was overload and each thing clients do has happened, if there was time enough.
void judge_deeds(verdict& all_in_all, const subject& setup, const tally& counts, const options& wanted);

}  // namespace cogen::soak
