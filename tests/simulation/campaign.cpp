#include "simulation/campaign.hpp"

#include "simulation/history.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

namespace cogen::scheduler::simulate {
namespace {

class campaign {
 public:
  explicit campaign(const options& asked) : asked_(asked) {}

  campaign_result run() {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < asked_.jobs; ++i) workers.emplace_back([this] { work(); });
    watch();
    workers.clear();
    result_.played = played_.load();
    return std::move(result_);
  }

 private:
  void work() {
    coverage seen;
    for (auto next = taken_++; next < asked_.seeds && !failed_.load(); next = taken_++) {
      try {
        play(asked_.first + next, seen);
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
    if (!result_.failure || found.seed < result_.failure->seed) result_.failure = std::move(found);
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
  std::atomic<std::uint64_t> taken_ = 0;
  std::atomic<std::uint64_t> played_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  unsigned ended_ = 0;
  campaign_result result_;
};

}  // namespace

campaign_result run_campaign(const options& asked) { return campaign(asked).run(); }

}  // namespace cogen::scheduler::simulate
