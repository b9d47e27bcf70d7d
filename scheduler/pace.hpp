#pragma once

#include <cogen/scheduler/deadline_unreachable.hpp>

#include <optional>

namespace cogen::scheduler {

/// Estimates the time per token in full steps, and the tokens that a run samples. Newer measurements weigh more.
class pace {
 public:
  /// A step of so many tokens was planned; `busy`: there was more to do than it holds. It lasts until the next step.
  void planned(time now, std::int64_t tokens, bool busy);

  /// A sampling run has ended.
  void ended(int samples);

  /// Empty before it is known.
  std::optional<deadline_unreachable::pace_type> per_token() const;

  /// 1 before it is known.
  double samples() const { return samples_.value_or(1); }

 private:
  time since_{};
  std::int64_t measuring_ = 0;  // tokens of the step that lasts, if it counts
  double elapsed_ = 0;          // nanoseconds
  double tokens_ = 0;           // run in that time
  std::optional<double> samples_;
};

}  // namespace cogen::scheduler
