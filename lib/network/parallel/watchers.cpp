#include "network/parallel/watchers.hpp"

#include <utility>

namespace cogen::parallel {

std::shared_ptr<void> watchers::add(watcher failed) {
  const std::lock_guard lock(mutex_);
  if (!why_.empty()) failed(why_);
  const auto place = entries_.insert(entries_.end(), std::move(failed));
  return {this, [place](watchers* owner) {
            const std::lock_guard removing(owner->mutex_);
            owner->entries_.erase(place);
          }};
}

void watchers::tell(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (!why_.empty()) return;
  why_ = why.empty() ? "a rank has failed" : why;
  for (const auto& each : entries_) each(why_);
}

bool watchers::empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

}  // namespace cogen::parallel
