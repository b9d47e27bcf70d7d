#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace cogen::device {

/// Counts the callbacks that a device has not called yet, so that a stream can wait for them after any error.
/// Thread-safe.
class pending_callbacks {
 public:
  using callback = std::function<void(std::exception_ptr)>;

  /// `done`, to be called once. It is pending until it has returned and what it holds has been destroyed, or until the
  /// last copy of it has been destroyed without a call. This object need not live that long.
  callback add(callback done);

  /// Waits until none is pending.
  void wait() noexcept;

 private:
  struct counter {
    std::mutex mutex;
    std::condition_variable none_left;
    std::int64_t count = 0;
  };

  const std::shared_ptr<counter> counter_ = std::make_shared<counter>();
};

}  // namespace cogen::device
