#pragma once

#include <atomic>
#include <mutex>
#include <new>

namespace cogen::detail {

/// Changes with each fork(), in the child. Throws std::system_error if the first call cannot register that.
unsigned process_generation();

/// A mutex that the child of a fork() finds unlocked: there the thread that may have locked it does not exist.
class forkable_mutex {
 public:
  void lock() {
    const auto now = process_generation();
    if (generation_.load(std::memory_order_relaxed) != now) {
      new (&mutex_) std::mutex;
      generation_.store(now, std::memory_order_relaxed);
    }
    mutex_.lock();
  }

  void unlock() { mutex_.unlock(); }

 private:
  std::atomic<unsigned> generation_ = process_generation();
  std::mutex mutex_;
};

}  // namespace cogen::detail
