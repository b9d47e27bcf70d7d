#include "copy_job.hpp"

#include <cogen/detail/cache/transfer.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace cogen::cache {

struct worker_transfer::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<copy_job> jobs;  // guarded by mutex
  bool ending = false;        // guarded by mutex
  std::thread thread;

  void push(copy_job job) {
    const std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
    changed.notify_one();
  }

  void end() {
    const std::lock_guard lock(mutex);
    ending = true;
    changed.notify_one();
  }

  /// The next job; nothing once all jobs are done and no more will come.
  std::optional<copy_job> next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ending || !jobs.empty(); });
    if (jobs.empty()) return std::nullopt;
    copy_job job = std::move(jobs.front());
    jobs.pop_front();
    return job;
  }

  void work() {
    while (const auto job = next()) {
      run(job->copies);
      job->done(nullptr);
    }
  }
};

worker_transfer::worker_transfer() : state_(std::make_unique<state>()) {
  state_->thread = std::thread([state = state_.get()] { state->work(); });
}

worker_transfer::~worker_transfer() {
  state_->end();
  state_->thread.join();
}

void worker_transfer::start(std::vector<byte_copy> copies, callback done) {
  check(copies);
  state_->push({.copies = std::move(copies), .done = std::move(done)});
}

}  // namespace cogen::cache
