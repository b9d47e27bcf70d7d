#pragma once

#include <cogen/guide.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>

namespace cogen::grammar {

/// Why work on a grammar was given up: one sentence with the bound, which the request exceeds.
class work_error : public guide_limit_exceeded {
 public:
  using guide_limit_exceeded::guide_limit_exceeded;
};

/// Nobody waits for the work any more.
class work_cancelled : public std::runtime_error {
 public:
  work_cancelled() : std::runtime_error("the work was cancelled") {}
};

struct work_bounds {
  const char* work;  ///< that is bounded, such as "compiling the response format"
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::optional<std::chrono::milliseconds> time = {};  ///< of a processor
  std::optional<std::size_t> bytes = {};               ///< by which the memory of the process may grow
  const std::atomic<bool>* cancelled = nullptr;        ///< by any thread
};

/// Bounds what the current thread does on a grammar while this exists, where steps are counted: beyond a bound,
/// count_step() throws work_error or work_cancelled, once. Inside another one the outer one does not count.
class bounded_work {
 public:
  explicit bounded_work(const work_bounds& bounds) noexcept;
  ~bounded_work();
  bounded_work(const bounded_work&) = delete;
  bounded_work& operator=(const bounded_work&) = delete;

  std::int64_t steps() const noexcept;  ///< so far, unless a bound was exceeded

 private:
  friend void check_steps();
  void check();
  void check_time();
  void grant() noexcept;

  const work_bounds bounds_;
  const std::chrono::milliseconds start_;
  const std::size_t bytes_before_;
  std::chrono::milliseconds measured_{0};
  std::int64_t granted_ = 0;
  bounded_work* const outer_;
  const std::int64_t steps_left_outside_;
};

}  // namespace cogen::grammar
