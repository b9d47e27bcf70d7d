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

/// The queue of handlers that an engine runs between two steps. After `close()` nothing is queued any more, and what
/// was queued is destroyed uncalled.
class engine_queue final : public net::io_context {
 public:
  engine_queue() : net::io_context(1), work_(get_executor()) {}

  template <class Function>
  void post(Function&& function) {
    std::lock_guard lock(mutex_);
    if (!closed_) net::post(get_executor(), std::forward<Function>(function));
  }

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

/// Runs work between decode steps, on the thread that drives the engine. Work must not block.
///
/// Shares ownership of its queue: it may be kept, used and destroyed after the engine is gone, and then discards what
/// it is given. Any thread may use it.
class engine_executor {
 public:
  /// So that `co_await` takes an operation started without a token.
  using default_completion_token_type = net::deferred_t;

  explicit engine_executor(std::shared_ptr<engine_queue> queue) noexcept : queue_(std::move(queue)) {}

  net::execution_context& query(net::execution::context_t) const noexcept { return *queue_; }
  static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
    return net::execution::blocking.never;
  }
  engine_executor require(net::execution::blocking_t::never_t) const { return *this; }

  template <class Function>
  void execute(Function&& function) const {
    queue_->post(std::forward<Function>(function));
  }

  friend bool operator==(const engine_executor&, const engine_executor&) noexcept = default;

 private:
  std::shared_ptr<engine_queue> queue_;
};

}  // namespace cogen::async
