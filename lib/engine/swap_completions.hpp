#pragma once

#include <cogen/runner.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace cogen::detail {

/// Completed swaps, and jobs that continue one, on their way to the thread that drives the engine.
class swap_completions final : public swap_listener {
 public:
  struct completion {
    scheduler::swap_id name;
    std::exception_ptr error;
    std::function<void()> job;  ///< continues a swap that has not completed
  };

  /// Memory for as many as there can be: for each slot a job and then a completion. `wake` must not throw.
  swap_completions(int slots, std::function<void()> wake);

  void transferred(scheduler::swap_id name, std::exception_ptr error) noexcept override;
  void go_on(std::function<void()> job) noexcept override;

  /// Those put in since the last call.
  std::vector<completion> take();

  bool empty() const noexcept;

 private:
  void put(completion what) noexcept;

  const std::size_t room_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<completion> completed_;  // guarded by mutex_
};

}  // namespace cogen::detail
