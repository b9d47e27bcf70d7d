#pragma once

#include <thread>
#include <utility>
#include <vector>

namespace cogen::test {

/// Threads that are joined at the end. (Not every standard library has std::jthread yet.)
class thread_group {
 public:
  thread_group() = default;
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;
  ~thread_group() { join(); }

  template <class Run>
  void start(Run run) {
    threads_.emplace_back(std::move(run));
  }

  void join() {
    for (auto& thread : std::exchange(threads_, {})) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace cogen::test
