#pragma once

#include <cogen/extend/runner.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace cogen::detail {

/// Ends of transfers, and what is to go on, on their way to the thread that drives.
class arrivals final : public swap_listener {
 public:
  struct arrival {
    scheduler::swap_id name;
    std::exception_ptr error;
    std::function<void()> job;  ///< instead of an end
  };

  /// Room for as many as can be on their way: for each slot an end, and a job before it. `wake` must not throw.
  arrivals(int slots, std::function<void()> wake);

  void transferred(scheduler::swap_id name, std::exception_ptr error) noexcept override;
  void go_on(std::function<void()> job) noexcept override;

  /// Those that have come since the last time.
  std::vector<arrival> take();

  bool empty() const noexcept;

 private:
  void put(arrival what) noexcept;

  const std::size_t room_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<arrival> arrived_;  // guarded by mutex_
};

}  // namespace cogen::detail
