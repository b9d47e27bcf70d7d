#include "network/kernels/worker_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#endif

namespace cogen::kernels {
namespace {

constexpr auto max_spin = std::chrono::microseconds(50);
constexpr std::uint32_t inside_mask = 0xfff;
constexpr std::uint32_t one_region = inside_mask + 1;
constexpr int max_threads = 1024;

bool is_open(std::uint32_t gate) { return (gate & one_region) != 0; }
std::uint32_t region_of(std::uint32_t gate) { return gate & ~inside_mask; }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");  // `yield` takes no time on most processors, this about as long as x86's pause
#endif
}

// Whether `done` came true within the time that a thread may spin.
template <class Condition>
bool spin_until(Condition done) {
  for (int i = 0; i < 64; ++i) {
    if (done()) return true;
    relax();
  }
  const auto end = std::chrono::steady_clock::now() + max_spin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

int checked(std::optional<int> threads) {
  if (!threads) return std::min(available_cores(), max_threads);
  if (*threads < 1 || *threads > max_threads)
    throw std::invalid_argument(
        fmt::format("the number of threads is {}; it must be between 1 and {}", *threads, max_threads));
  return *threads;
}

}  // namespace

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

worker_pool::worker_pool(std::optional<int> threads) {
  const int count = checked(threads);
  workers_.reserve(static_cast<std::size_t>(count - 1));
  try {
    for (int thread = 1; thread < count; ++thread) workers_.emplace_back([this, thread] { work(thread); });
  } catch (...) {
    stop();
    throw;
  }
}

worker_pool::~worker_pool() { stop(); }

void worker_pool::stop() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  gate_.fetch_add(2 * one_region, std::memory_order_release);
  gate_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void worker_pool::run(const region& work) {
  if (work.tasks <= 0) return;
  if (work.tasks == 1 || workers_.empty() || busy_.exchange(true, std::memory_order_acquire)) return run_alone(work);
  run_together(work);
}

void worker_pool::run_alone(const region& work) {
  for (std::int64_t index = 0; index < work.tasks; ++index) work.call(work.context, index, 0);
}

void worker_pool::run_together(const region& work) {
  region_ = work;
  failed_.store(false, std::memory_order_relaxed);
  next_.store(0, std::memory_order_relaxed);
  gate_.fetch_add(one_region, std::memory_order_release);
  gate_.notify_all();
  take_tasks(0);
  join();
  const std::exception_ptr diagnostics = std::exchange(exception_, nullptr);
  busy_.store(false, std::memory_order_release);
  if (diagnostics) std::rethrow_exception(diagnostics);
}

void worker_pool::take_tasks(int thread) noexcept {
  try {
    while (true) {
      const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= region_.tasks) return;
      region_.call(region_.context, index, thread);
    }
  } catch (...) {
    keep_exception();
  }
}

void worker_pool::keep_exception() noexcept {
  if (!failed_.exchange(true, std::memory_order_relaxed)) exception_ = std::current_exception();
  next_.store(region_.tasks, std::memory_order_relaxed);
}

// Closes the region, and waits for the workers that are inside it.
void worker_pool::join() noexcept {
  gate_.fetch_add(one_region, std::memory_order_acq_rel);
  const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & inside_mask) == 0; };
  if (spin_until(empty)) return;
  while (true) {
    const std::uint32_t seen = left_.load(std::memory_order_acquire);
    if (empty()) return;
    left_.wait(seen, std::memory_order_acquire);
  }
}

void worker_pool::work(int thread) noexcept {
  std::uint32_t served = 0;
  while (enter(served)) {
    take_tasks(thread);
    leave();
  }
}

// Waits for an open region that this worker has not served yet. False: the pool is stopping.
bool worker_pool::enter(std::uint32_t& served) noexcept {
  std::uint32_t gate = 0;
  const auto another = [&] {
    gate = gate_.load(std::memory_order_acquire);
    return (is_open(gate) && region_of(gate) != served) || stopping_.load(std::memory_order_relaxed);
  };
  while (true) {
    if (!spin_until(another)) {
      gate_.wait(gate, std::memory_order_acquire);
      continue;
    }
    if (stopping_.load(std::memory_order_relaxed)) return false;
    served = region_of(gate);
    while (is_open(gate) && region_of(gate) == served)
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire)) return true;
  }
}

void worker_pool::leave() noexcept {
  const std::uint32_t gate = gate_.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (is_open(gate) || (gate & inside_mask) != 0) return;
  left_.fetch_add(1, std::memory_order_release);
  left_.notify_one();
}

}  // namespace cogen::kernels
