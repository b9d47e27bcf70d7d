#include "engine/tenant_queue.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {

void tenant_queue::put(std::uint64_t tenant, job task) {
  auto kept = std::make_shared<const job>(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    tenants_[tenant].waiting.push_back(std::move(kept));
  }
  start();
}

void tenant_queue::start() noexcept {
  std::unique_lock lock(mutex_);
  const auto found = running_ < max_at_once_ ? next_in_turn() : tenants_.end();
  if (found == tenants_.end()) return;
  const auto tenant = found->first;
  auto& own = found->second;
  const auto next = std::move(own.waiting.front());
  own.waiting.pop_front();
  own.runs = true;
  last_ = tenant;
  ++running_;
  lock.unlock();
  try {
    run_([this, tenant, next] { run(tenant, next); });
  } catch (...) {  // no memory for another thread's work
    run(tenant, next);
  }
}

tenant_queue::tenant_map::iterator tenant_queue::next_in_turn() noexcept {
  const auto may_run = [](const auto& entry) { return !entry.second.runs && !entry.second.waiting.empty(); };
  const auto behind = std::find_if(tenants_.upper_bound(last_), tenants_.end(), may_run);
  return behind != tenants_.end() ? behind : std::find_if(tenants_.begin(), tenants_.end(), may_run);
}

/// The job, which the caller keeps, may be the last to hold the queue's owner.
void tenant_queue::run(std::uint64_t tenant, const kept_job& task) noexcept {
  (*task)();
  {
    const std::lock_guard lock(mutex_);
    --running_;
    const auto found = tenants_.find(tenant);
    found->second.runs = false;
    if (found->second.waiting.empty()) tenants_.erase(found);
  }
  start();
}

}  // namespace cogen::detail
