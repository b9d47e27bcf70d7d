#pragma once

#include <cogen/extend/runner.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace cogen::detail {

/// A queue of completed swaps, and of jobs that continue a swap or end a step, for the engine thread. Any thread may
/// add to it.
class swap_completions final : public swap_listener {
 public:
  struct completion {
    scheduler::swap_id name;
    std::exception_ptr error;
    std::function<void()> job;  ///< instead of a completion
  };

  /// Reserves memory for the most entries there can be: a job and a completion for each slot, and a job for each step.
  /// Calls `wake`, which must not throw, for each entry.
  swap_completions(int slots, int steps, std::function<void()> wake);

  void on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept override;
  void post_to_engine_thread(std::function<void()> job) noexcept override;

  /// Removes and returns all entries. Throws std::bad_alloc.
  std::vector<completion> take();

  bool empty() const noexcept;

 private:
  void put(completion swap) noexcept;

  const std::size_t room_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<completion> completed_;  // guarded by mutex_
};

}  // namespace cogen::detail
