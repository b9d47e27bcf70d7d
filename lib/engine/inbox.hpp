#pragma once

#include "engine/request_state.hpp"

#include <memory>
#include <mutex>

namespace cogen::detail {

/// Request states that have something to say, first come first. Putting one in neither allocates nor throws, so handles
/// can be destroyed and cancelled anywhere.
class inbox {
 public:
  /// False once closed; then nothing was kept.
  bool put(std::shared_ptr<request_state> from) noexcept {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (from->enqueued_) return true;
    from->enqueued_ = true;
    auto& place = last_ ? last_->next_ : first_;
    last_ = from.get();
    place = std::move(from);
    return true;
  }

  /// The one that has waited longest, or null.
  std::shared_ptr<request_state> take() noexcept {
    std::lock_guard lock(mutex_);
    auto taken = std::move(first_);
    if (!taken) return nullptr;
    first_ = std::move(taken->next_);
    taken->next_ = nullptr;
    taken->enqueued_ = false;
    if (!first_) last_ = nullptr;
    return taken;
  }

  bool empty() const noexcept {
    std::lock_guard lock(mutex_);
    return !first_;
  }

  void close() noexcept {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<request_state> first_;
  request_state* last_ = nullptr;
  bool closed_ = false;
};

}  // namespace cogen::detail
