#include "network/parallel/watchers.hpp"

#include <utility>

namespace cogen::parallel {

std::shared_ptr<void> watchers::add(watcher failed) {
  const std::lock_guard lock(mutex_);
  if (!why_.empty()) failed(why_);
  const auto place = all_.insert(all_.end(), std::move(failed));
  return {this, [place](watchers* of) {
            const std::lock_guard removing(of->mutex_);
            of->all_.erase(place);
          }};
}

void watchers::tell(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (!why_.empty()) return;
  why_ = why.empty() ? "a rank has failed" : why;
  for (const auto& each : all_) each(why_);
}

bool watchers::empty() const {
  const std::lock_guard lock(mutex_);
  return all_.empty();
}

}  // namespace cogen::parallel
