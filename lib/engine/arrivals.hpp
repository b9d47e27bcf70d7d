#pragma once

#include <cogen/runner.hpp>

#include <functional>
#include <mutex>
#include <vector>

namespace cogen::detail {

/// Ends of transfers on their way to the thread that drives.
class arrivals final : public transfer_listener {
 public:
  struct arrival {
    scheduler::ticket name;
    std::exception_ptr error;
  };

  /// Room for as many as can be on their way, one for each slot. `wake` must not throw.
  arrivals(int slots, std::function<void()> wake);

  void transferred(scheduler::ticket name, std::exception_ptr error) noexcept override;

  /// Those that have come since the last time.
  std::vector<arrival> take();

  bool empty() const noexcept;

 private:
  const std::size_t room_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::vector<arrival> arrived_;  // guarded by mutex_
};

}  // namespace cogen::detail
