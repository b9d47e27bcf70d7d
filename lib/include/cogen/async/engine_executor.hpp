#pragma once

#include <cogen/net.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace cogen::async {

/// The queue of handlers that an engine runs between two steps. After `close()` nothing can be queued, and queued
/// handlers are destroyed without being called.
class engine_queue final : public net::io_context {
 public:
  engine_queue() : net::io_context(1), work_(get_executor()) {}

  /// Queues the handler; discards it after close(). Thread-safe.
  template <class Function>
  void post(Function&& function) {
    std::lock_guard lock(mutex_);
    if (!closed_) net::post(get_executor(), std::forward<Function>(function));
  }

  /// Destroys the queued handlers, and discards later ones.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    work_.reset();
    shutdown();
  }

 private:
  std::mutex mutex_;
  bool closed_ = false;
  net::executor_work_guard<executor_type> work_;
};

/// Runs handlers between decode steps, on the thread that drives the engine. They must not block.
///
/// Shares ownership of its queue. It may be used after the engine is gone; then it discards handlers. Thread-safe.
class engine_executor {
 public:
  /// With it, `co_await` takes an operation started without a token.
  using default_completion_token_type = net::deferred_t;

  /// Runs handlers in this queue.
  explicit engine_executor(std::shared_ptr<engine_queue> queue) noexcept : queue_(std::move(queue)) {}

  /// Asio's executor requirements: never runs a handler within execute().
  net::execution_context& query(net::execution::context_t) const noexcept { return *queue_; }
  /// The same.
  static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
    return net::execution::blocking.never;
  }
  /// The same.
  engine_executor require(net::execution::blocking_t::never_t) const { return *this; }

  /// Queues the handler.
  template <class Function>
  void execute(Function&& function) const {
    queue_->post(std::forward<Function>(function));
  }

  friend bool operator==(const engine_executor&, const engine_executor&) noexcept = default;

 private:
  std::shared_ptr<engine_queue> queue_;
};

}  // namespace cogen::async
