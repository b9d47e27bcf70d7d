#pragma once

#include <cogen/guide.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace cogen::grammar {

/// Why work on a grammar was given up: one message with the bound, which the request exceeds.
class work_error : public guide_limit_exceeded {
 public:
  using guide_limit_exceeded::guide_limit_exceeded;
};

/// Why work is given up that exceeds no bound of its own: nobody waits for it any more, or others have to go on.
/// What a watch throws also says why.
class work_interrupted {
 public:
  virtual ~work_interrupted() = default;
};

/// Looks at work while it is done.
class work_watch {
 public:
  virtual ~work_watch() = default;

  /// Called by the thread that works, every few milliseconds of its time, where it holds no lock. May block it; ends
  /// the work by throwing work_interrupted.
  virtual void check() = 0;

  /// Whether it ends work that takes too much memory.
  virtual bool bounds_memory() const noexcept { return false; }
};

/// Processor time of this thread: other work of the machine does not count.
std::chrono::milliseconds thread_time() noexcept;

/// The memory of the process that is not a file's; 0 where the system does not tell.
std::size_t bytes_of_process() noexcept;

/// While it exists, a step of an engine waits: all bounded work of the current thread may together take so many steps
/// on a grammar, and throws guide_postponed beyond that.
class brief_work {
 public:
  explicit brief_work(std::int64_t steps) noexcept;
  ~brief_work();
  brief_work(const brief_work&) = delete;
  brief_work& operator=(const brief_work&) = delete;

  std::int64_t steps() const noexcept { return steps_ - left_; }  ///< so far

  /// How many steps the current thread may take; nothing: as many as it likes, since no step waits.
  static std::optional<std::int64_t> left() noexcept;

  /// Throws guide_postponed if these are more.
  static void require(std::int64_t steps);

 private:
  friend class bounded_work;

  const std::int64_t steps_;
  std::int64_t left_;
  brief_work* const outer_;
};

struct work_bounds {
  const char* work;  ///< that is bounded, such as "compiling the response format"
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  std::optional<std::chrono::milliseconds> time = {};  ///< of a processor
  std::optional<std::size_t> bytes = {};               ///< by which the memory of the process may grow
  work_watch* watch = nullptr;
};

/// Bounds what the current thread does on a grammar while this exists, where steps are counted: beyond a bound,
/// count_step() throws work_error, or what the watch throws, once. Inside another one the outer one does not count.
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
  brief_work* const brief_;
  const std::int64_t most_;  // steps, by both
  const std::chrono::milliseconds start_;
  const std::size_t bytes_before_;
  std::chrono::milliseconds measured_{0};
  std::int64_t granted_ = 0;
  bool is_exceeded_ = false;
  bounded_work* const outer_;
  const std::int64_t steps_left_outside_;
};

/// What all work shares and the first one makes: that one's bounds do not end it, nor does its watch look at it.
template <typename Make>
auto made_once(const Make& make) {
  const bounded_work unbounded({.work = "making what all work shares"});
  return make();
}

}  // namespace cogen::grammar
