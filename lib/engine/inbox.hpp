#pragma once

#include "engine/async/forkable_mutex.hpp"
#include "engine/request_state.hpp"

#include <memory>
#include <mutex>

namespace cogen::detail {

/// Request states to be processed, in FIFO order. put() neither allocates nor throws, so handles can be destroyed and
/// cancelled on any thread, also when memory is short.
class inbox {
 public:
  /// Enqueues a request state unless it is queued already. False once closed: then it is not enqueued.
  bool put(std::shared_ptr<request_state> request) noexcept {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (request->enqueued_) return true;
    request->enqueued_ = true;
    auto& place = last_ ? last_->next_ : first_;
    last_ = request.get();
    place = std::move(request);
    return true;
  }

  /// Removes and returns the oldest one; null if there is none.
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
  mutable forkable_mutex mutex_;
  std::shared_ptr<request_state> first_;
  request_state* last_ = nullptr;
  bool closed_ = false;
};

}  // namespace cogen::detail
