#pragma once

#include <cogen/detail/completion.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace cogen {

namespace detail {

/// The queue of handlers that an engine runs between two steps. After `close()` nothing can be queued, and queued
/// handlers are destroyed without being called.
class engine_queue final : public net::io_context {
 public:
  engine_queue() : net::io_context(1), work_(get_executor()) {}

  /// Queues the handler; discards it after close(). Thread-safe.
  template <class Function>
  void post(Function&& function) {
    const std::lock_guard lock(mutex_);
    if (!closed_) net::post(get_executor(), std::forward<Function>(function));
  }

  /// Runs the handler now, if one of the queue is being run by this thread; otherwise the same.
  template <class Function>
  void dispatch(Function&& function) {
    if (get_executor().running_in_this_thread())
      get_executor().execute(std::forward<Function>(function));
    else
      post(std::forward<Function>(function));
  }

  void close();  ///< destroys the queued handlers, and discards later ones

 private:
  std::recursive_mutex mutex_;  // without memory for a function, it is destroyed in post(), and may post another
  bool closed_ = false;
  net::executor_work_guard<executor_type> work_;
};

/// Where the handlers of an operation run that have no executor of their own. Its default token is that of the
/// operation.
class fallback_executor : public net::any_io_executor {
 public:
  using default_completion_token_type = throwing_t;

  /// The same executor.
  explicit fallback_executor(net::any_io_executor executor) noexcept : any_io_executor(std::move(executor)) {}
};

}  // namespace detail

/// Runs handlers between decode steps, on the thread that drives the engine. They must not block. It may be used after
/// the engine is gone; then it discards handlers. Thread-safe.
///
/// As that of an io_context: net::post() queues a handler, and net::dispatch() runs it at once within another one. Asio
/// tells `||` by net::dispatch() that a side has won; the other one then is cancelled before its handler runs.
class engine_executor {
 public:
  using default_completion_token_type = detail::throwing_t;

  /// Runs handlers in this queue, of which it shares ownership.
  explicit engine_executor(std::shared_ptr<detail::engine_queue> queue) noexcept : queue_(std::move(queue)) {}

  /// Asio's executor requirements.
  net::execution_context& query(net::execution::context_t) const noexcept { return *queue_; }
  /// One that never runs a handler within execute().
  engine_executor require(net::execution::blocking_t::never_t) const { return {queue_, true}; }
  /// One that runs a handler within execute() if that is called by a handler.
  engine_executor require(net::execution::blocking_t::possibly_t) const { return {queue_, false}; }
  /// Which of them it is.
  net::execution::blocking_t query(net::execution::blocking_t) const noexcept {
    if (posts_) return net::execution::blocking.never;
    return net::execution::blocking.possibly;
  }

  /// Runs or queues the handler.
  template <class Function>
  void execute(Function&& function) const {
    if (posts_)
      queue_->post(std::forward<Function>(function));
    else
      queue_->dispatch(std::forward<Function>(function));
  }

  friend bool operator==(const engine_executor&, const engine_executor&) noexcept = default;

 private:
  engine_executor(std::shared_ptr<detail::engine_queue> queue, bool posts) noexcept
      : queue_(std::move(queue)), posts_(posts) {}

  std::shared_ptr<detail::engine_queue> queue_;
  bool posts_ = false;
};

}  // namespace cogen
