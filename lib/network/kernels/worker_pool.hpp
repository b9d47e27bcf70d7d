#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace cogen::kernels {

/// Threads that share the tasks of one parallel region with the thread that opens it (fork and join).
///
/// Several threads (engines) may call one pool: regions run one at a time on all threads, and a region opened while
/// another one runs, or from inside a task, is worked off by its caller alone. Nothing is allocated per region. Idle
/// workers spin for at most 50 microseconds, then sleep until the next region; a worker that has not woken up is not
/// waited for.
class worker_pool {
 public:
  /// `threads` counts the calling thread too: threads - 1 workers are started. Empty: as many as `available_cores()`.
  /// Throws std::invalid_argument if below 1 or over 1024, std::system_error if no thread can be started.
  explicit worker_pool(std::optional<int> threads = {});
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  /// No region may be running.
  ~worker_pool();

  /// Workers and the caller: the bound of the second argument that tasks get.
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls task(index, thread) for each index in [0, tasks), on any thread, in any order, each once; thread is in
  /// [0, threads()) and no two calls of one region with the same one overlap. Returns when all have ended.
  /// If tasks throw, the rest may be skipped and the first exception is thrown here.
  template <std::invocable<std::int64_t, int> Task>
  void parallel(std::int64_t tasks, Task&& task) {
    using callable = std::remove_reference_t<Task>;
    run({[](const void* context, std::int64_t index, int thread) {
           (*static_cast<callable*>(const_cast<void*>(context)))(index, thread);
         },
         std::addressof(task), tasks});
  }

 private:
  struct region {
    void (*call)(const void* context, std::int64_t index, int thread) = nullptr;
    const void* context = nullptr;
    std::int64_t tasks = 0;
  };

  void stop() noexcept;
  void run(const region& work);
  void run_alone(const region& work);
  void run_together(const region& work);
  void take_tasks(int thread) noexcept;
  void keep_exception() noexcept;
  void join() noexcept;
  void work(int thread) noexcept;
  bool enter(std::uint32_t& served) noexcept;
  void leave() noexcept;

  // gate_ = region number << 12 | workers inside. A region's number is odd while it is open; workers enter only then.
  alignas(64) std::atomic<std::uint32_t> gate_{0};
  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> left_{0};  // counts closed regions that their last worker has left
  std::atomic<bool> busy_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
  region region_;
  std::exception_ptr exception_;
  std::vector<std::thread> workers_;
};

/// The number of cores that this process may run on (its scheduling affinity), at least 1.
int available_cores();

}  // namespace cogen::kernels
