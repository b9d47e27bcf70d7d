#pragma once

#include <chrono>

namespace cogen {

/// Where an engine takes its time from. Deadlines, waits with a limit and the times in `usage` all go by it.
class clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  virtual ~clock() = default;

  /// Never goes back. Called from any thread.
  virtual time_point now() const noexcept = 0;
};

/// The machine's own steady clock.
class steady_clock final : public clock {
 public:
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
};

}  // namespace cogen
