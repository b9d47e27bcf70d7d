#pragma once

#include <chrono>

namespace cogen {

/// The source of an engine's time. Deadlines, time limits and the times in `usage` and `request_metrics` use it.
class clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  virtual ~clock() = default;
  virtual time_point now() const noexcept = 0;  ///< never goes back; thread-safe
};

/// The system's steady clock.
class steady_clock final : public clock {
 public:
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
};

}  // namespace cogen
