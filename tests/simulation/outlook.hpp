#pragma once

#include <cogen/detail/scheduler/step.hpp>

#include <optional>

namespace cogen::scheduler::simulate {

/// When a run would end, by what was seen of plans and runs from outside.
class outlook {
 public:
  void planned(time now, const step& plan, bool left_behind);
  void ended(int samples);

  /// Nanoseconds for a token; empty before it is known.
  std::optional<double> pace() const;
  double samples() const { return samples_; }

 private:
  time began_{};
  double lasting_ = 0;  // tokens of the last plan, if a sequence was left behind
  double elapsed_ = 0;
  double tokens_ = 0;
  double samples_ = 1;
  bool any_ended_ = false;
};

}  // namespace cogen::scheduler::simulate
