#pragma once

#include <cogen/clock.hpp>

#include <atomic>
#include <chrono>

namespace cogen::test {

/// All steps take the same time, so that a draft costs nothing.
class even_clock final : public clock {
 public:
  time_point now() const noexcept override { return time_point(std::chrono::milliseconds(++calls_)); }

 private:
  mutable std::atomic<int> calls_ = 0;
};

}  // namespace cogen::test
