#pragma once

#include <cogen/scheduler/types.hpp>

#include <chrono>
#include <stdexcept>

namespace cogen::scheduler {

/// A run was refused, for it would end after its deadline.
class deadline_unreachable : public std::runtime_error {
 public:
  using pace_type = std::chrono::duration<double, std::nano>;

  /// `tokens` are to be run from `now` on until its last one, which takes `pace` for each.
  deadline_unreachable(time now, time deadline, double tokens, pace_type pace);

  time deadline() const noexcept { return deadline_; }
  time estimate() const noexcept { return estimate_; }  ///< when it would end
  pace_type pace() const noexcept { return pace_; }     ///< time for each token, over all sequences

 private:
  time deadline_;
  time estimate_;
  pace_type pace_;
};

}  // namespace cogen::scheduler
