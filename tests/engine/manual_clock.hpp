#pragma once

#include <cogen/clock.hpp>

#include <atomic>

namespace cogen::test {

/// Time that passes on request.
class manual_clock final : public clock {
 public:
  time_point now() const noexcept override { return time_point(duration(ticks_.load())); }
  void advance(duration elapsed) { ticks_ += elapsed.count(); }

 private:
  std::atomic<duration::rep> ticks_ = 0;
};

}  // namespace cogen::test
