#pragma once

#include <cogen/net.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <list>
#include <memory>
#include <mutex>

namespace cogen::async {

/// Something that waits on behalf of a handler of some execution context.
class pending_operation {
 public:
  virtual ~pending_operation() = default;

  /// Destroys the handler without calling it: its context is going.
  virtual void drop() noexcept = 0;

  /// Posts the handler of a completed operation that could not be posted for want of memory. False: again in vain.
  virtual bool post_again() noexcept = 0;

  /// Links operations that are still to be posted.
  std::shared_ptr<pending_operation> next_unposted;
};

/// The operations that wait on behalf of one execution context, so that they let go of it before it is destroyed.
/// Without this, a handler that is still pending when its `io_context` ends would touch the dead context.
class pending_operations {
 public:
  using entry = std::list<std::weak_ptr<pending_operation>>::iterator;

  entry add(std::weak_ptr<pending_operation> operation);
  void remove(entry at) noexcept;

  /// Runs `post` unless the context has shut down; the two exclude each other. Returns false when it has.
  template <class Post>
  bool while_alive(Post&& post) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    post();
    return true;
  }

  void close() noexcept;

 private:
  std::mutex mutex_;
  std::list<std::weak_ptr<pending_operation>> waiting_;
  bool closed_ = false;
};

/// The registry of the context that `executor` belongs to; it outlives the context for as long as somebody holds it.
std::shared_ptr<pending_operations> pending_operations_of(const net::any_io_executor& executor);

}  // namespace cogen::async
