#pragma once

#include "engine/async/forkable_mutex.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace cogen::detail {

/// Runs what takes long for a request: few jobs at once, so that threads are left for prompts, one of each tenant, and
/// tenants in turn, so that none waits for all that another one has sent. Any thread.
class tenant_queue {
 public:
  using job = std::function<void()>;

  /// `run` runs a job on another thread, or at once.
  tenant_queue(int max_at_once, std::function<void(job)> run) : max_at_once_(max_at_once), run_(std::move(run)) {}

  /// A job keeps alive whoever owns the queue, and does not throw. Throws std::bad_alloc, and has then kept nothing.
  void put(std::uint64_t tenant, job task);

 private:
  using kept_job = std::shared_ptr<const job>;

  struct tenant_jobs {
    std::deque<kept_job> waiting = {};
    bool runs = false;
  };

  using tenant_map = std::map<std::uint64_t, tenant_jobs>;

  void start() noexcept;
  tenant_map::iterator next_in_turn() noexcept;
  void run(std::uint64_t tenant, const kept_job& task) noexcept;

  const int max_at_once_;
  const std::function<void(job)> run_;
  forkable_mutex mutex_;
  tenant_map tenants_;  // that have jobs
  std::uint64_t last_ = 0;
  int running_ = 0;
};

}  // namespace cogen::detail
