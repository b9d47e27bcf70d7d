#include "network/backend/pending_callbacks.hpp"

#include <utility>

namespace cogen::device {

pending_callbacks::callback pending_callbacks::add(callback done) {
  const auto end = [kept = counter_](counter*) {
    const std::lock_guard lock(kept->mutex);
    if (--kept->count == 0) kept->none_left.notify_all();
  };
  std::unique_lock lock(counter_->mutex);
  ++counter_->count;
  lock.unlock();
  std::shared_ptr<void> pending(counter_.get(), end);
  return [pending = std::move(pending), done = std::move(done)](const std::exception_ptr& error) mutable {
    done(error);
    done = nullptr;
    pending.reset();
  };
}

void pending_callbacks::wait() noexcept {
  std::unique_lock lock(counter_->mutex);
  counter_->none_left.wait(lock, [this] { return counter_->count == 0; });
}

}  // namespace cogen::device
