#pragma once

#include <cogen/detail/scheduler/types.hpp>

#include <chrono>
#include <stdexcept>

namespace cogen::scheduler {

/// A run was refused because it would end after its deadline.
class deadline_unreachable : public std::runtime_error {
 public:
  using pace_type = std::chrono::duration<double, std::nano>;

  /// `tokens` tokens remain from `now` until the end of the run; each takes `pace`.
  deadline_unreachable(time now, time deadline, double tokens, pace_type pace);

  time deadline() const noexcept { return deadline_; }
  time estimate() const noexcept { return estimate_; }  ///< when the run would end
  pace_type pace() const noexcept { return pace_; }     ///< time per token, over all sequences

 private:
  time deadline_;
  time estimate_;
  pace_type pace_;
};

}  // namespace cogen::scheduler
