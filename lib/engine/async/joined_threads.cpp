#include "engine/async/joined_threads.hpp"

#include "engine/async/forkable_mutex.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>

namespace cogen::detail {
namespace {

/// Of one process. Never destroyed, since the last thread may still unlock it when the process ends.
struct running_threads {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t count = 0;
};

/// A child has none of its parent's threads.
running_threads& threads_of_process() {
  static forkable_mutex mutex;
  static auto* threads = new running_threads;
  static unsigned owner = process_generation();
  const std::lock_guard lock(mutex);
  if (std::exchange(owner, process_generation()) != process_generation()) threads = new running_threads;
  return *threads;
}

struct exit_wait {
  ~exit_wait() {
    auto& threads = threads_of_process();
    std::unique_lock lock(threads.mutex);
    threads.ended.wait(lock, [&] { return threads.count == 0; });
  }
};

void count(running_threads& threads, std::ptrdiff_t more) {
  const std::lock_guard lock(threads.mutex);
  threads.count += static_cast<std::size_t>(more);
  threads.ended.notify_all();
}

}  // namespace

void run_joined(std::function<void()> work) {
  auto& threads = threads_of_process();
  static const exit_wait wait;
  count(threads, 1);
  try {
    std::thread([&threads, work = std::move(work)]() mutable {
      work();
      work = nullptr;
      count(threads, -1);
    }).detach();
  } catch (...) {
    count(threads, -1);
    throw;
  }
}

}  // namespace cogen::detail
