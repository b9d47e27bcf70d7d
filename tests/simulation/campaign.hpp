#pragma once

#include "../thread_group.hpp"
#include "simulation/options.hpp"
#include "simulation/script.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cogen::simulation {

struct failed_history {
  std::uint64_t seed;
  std::string why;
};

template <class Coverage>
struct campaign_result {
  Coverage seen;
  std::uint64_t played = 0;
  std::optional<failed_history> diagnostics;  ///< the one of the lowest seed, of those found
};

/// Plays histories on several threads, and says on standard error how far it is. `play(seed, coverage)` throws where a
/// history fails.
template <class Coverage, class Play>
class campaign {
 public:
  campaign(const options& asked, Play play) : asked_(asked), play_(std::move(play)) {}

  campaign_result<Coverage> run() {
    test::thread_group workers;
    for (unsigned i = 0; i < asked_.jobs; ++i) workers.start([this] { work(); });
    watch();
    workers.join();
    result_.played = played_.load();
    return std::move(result_);
  }

 private:
  void work() {
    Coverage seen;
    for (auto next = taken_++; next < asked_.seeds && !failed_.load(); next = taken_++) {
      try {
        play_(asked_.first + next, seen);
      } catch (const std::exception& e) {
        record({asked_.first + next, e.what()});
      }
      ++played_;
    }
    std::lock_guard lock(mutex_);
    result_.seen.add(seen);
    ++ended_;
    changed_.notify_one();
  }

  void record(failed_history found) {
    std::lock_guard lock(mutex_);
    failed_ = true;
    if (!result_.diagnostics || found.seed < result_.diagnostics->seed) result_.diagnostics = std::move(found);
  }

  void watch() {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ended_ == asked_.jobs; })) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      const auto played = played_.load();
      std::cerr << played << " of " << asked_.seeds << " histories, "
                << static_cast<std::uint64_t>(static_cast<double>(played) / passed.count()) << " a second" << std::endl;
    }
  }

  const options asked_;
  const Play play_;
  std::atomic<std::uint64_t> taken_ = 0;
  std::atomic<std::uint64_t> played_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  unsigned ended_ = 0;
  campaign_result<Coverage> result_;
};

}  // namespace cogen::simulation
