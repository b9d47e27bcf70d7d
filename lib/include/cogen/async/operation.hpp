#pragma once

#include <cogen/async/engine_executor.hpp>
#include <cogen/error.hpp>
#include <cogen/net.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace cogen::async {

/// An operation that waits on behalf of a handler of some execution context.
class pending_operation {
 public:
  virtual ~pending_operation() = default;

  /// Destroys the handler without calling it, because its context is being destroyed.
  virtual void drop() noexcept = 0;

  /// Posts the handler of a completed operation. Returns false, and changes nothing, if there is no memory for that.
  virtual bool post_again() noexcept = 0;

  /// Where the handler of a completed operation runs, never within execute().
  virtual net::any_io_executor executor() const noexcept = 0;

  /// Calls the handler of a completed operation, on that executor, after releasing `self`, which is this operation.
  virtual void call(std::shared_ptr<pending_operation> self) = 0;

  /// Links operations that still have to be posted.
  std::shared_ptr<pending_operation> next;
};

/// The pending operations of one execution context. They release the context before it is destroyed; otherwise a
/// handler still pending when its `io_context` ends would access the dead context.
///
/// It also posts their completions, with no lock held. Each handler runs in a job of its own. Completed operations of
/// one executor form a queue with one job at a time: it takes the first operation, posts the job for the next one, and
/// calls the handler. So a step that completes many operations posts one job, which reuses the memory of the last one,
/// and the context's threads share the work. If there is no memory for another job, the job calls the next handlers
/// itself; the first exception is rethrown at the end. Operations of an executor other than the queue's are posted
/// alone.
class pending_operations : public std::enable_shared_from_this<pending_operations> {
 public:
  using entry = std::list<std::weak_ptr<pending_operation>>::iterator;

  /// Registers an operation.
  entry add(std::weak_ptr<pending_operation> operation);

  /// Removes it; does nothing after close().
  void remove(entry at) noexcept;

  /// Has the executor of `completed` call it, unless the context is being destroyed. Throws std::bad_alloc, and has
  /// then changed nothing.
  void post(const std::shared_ptr<pending_operation>& completed);

  /// Drops all operations, once no post() is in progress: their context is being destroyed.
  void close() noexcept;

 private:
  class posting;

  void post_job(const net::any_io_executor& to);
  bool post_next_job(const net::any_io_executor& to) noexcept;  // false: memory is short
  void call_first();
  std::shared_ptr<pending_operation> take_first(bool& has_more) noexcept;
  void withdraw(const pending_operation& completed) noexcept;

  std::mutex mutex_;  // guards those below
  std::condition_variable none_posting_;
  std::list<std::weak_ptr<pending_operation>> waiting_;
  std::shared_ptr<pending_operation> first_;  // of the queue
  pending_operation* last_ = nullptr;
  bool has_job_ = false;  // a job for the queue is posted, or runs on
  int posting_ = 0;       // calls that use the context
  bool closed_ = false;
};

/// The registry of the context that `executor` belongs to. It outlives the context while it is referenced.
std::shared_ptr<pending_operations> pending_operations_of(const net::any_io_executor& executor);

/// One pending wait of one handler for `void(error_code, Results...)`. It is completed at most once, from any thread,
/// and can then be reused for another wait. A handler with a nested type `takes_diagnostics` is called with
/// `(diagnostics, Results...)`.
///
/// The handler runs on its associated executor as if by post, never inside the call that completes it. The wait holds
/// outstanding work on that executor. If the executor's context is destroyed first, the handler is destroyed without
/// being called.
///
/// States: waiting -> completed (set_result()) -> posted (post_again()) -> called (spent) -> waiting (make() reuses
/// it); from any of them -> dropped (the context is gone).
template <class... Results>
class operation final : public pending_operation, public std::enable_shared_from_this<operation<Results...>> {
 public:
  /// `cancel(type, operation)` is called on the thread that emits the handler's cancellation signal. Reuses `spent` if
  /// it is not referenced elsewhere and has the same context.
  template <class Handler, class Cancel>
  static std::shared_ptr<operation> make(Handler handler, const net::any_io_executor& fallback, Cancel cancel,
                                         std::shared_ptr<operation> spent = nullptr) {
    auto slot = net::get_associated_cancellation_slot(handler);
    const net::any_io_executor executor = net::get_associated_executor(handler, fallback);
    const bool again = spent && is_alone(spent) && spent->can_wait_on(executor);
    auto made = again ? std::move(spent) : fresh(executor);
    made->wait_.emplace(executor, for_diagnostics(std::move(handler)));
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr(made), cancel = std::move(cancel)](net::cancellation_type type) {
        if (auto self = weak.lock()) cancel(type, self);
      });
      made->slot_ = slot;
    }
    return made;
  }

  /// Registers with the executor's context. Call make() instead.
  explicit operation(const net::any_io_executor& executor)
      : context_(&net::query(executor, net::execution::context)), registry_(pending_operations_of(executor)) {}

  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;
  ~operation() override {
    if (entry_) registry_->remove(*entry_);
  }

  /// Takes the result. `post_again()` then posts the handler.
  template <class... Values>
  void set_result(diagnostics why, Values&&... results) noexcept {
    result_.emplace(std::move(why), std::forward<Values>(results)...);
  }

  bool post_again() noexcept override try {
    registry_->post(this->shared_from_this());
    return true;
  } catch (...) {
    return false;
  }

  net::any_io_executor executor() const noexcept override { return wait_->executor; }

  void call(std::shared_ptr<pending_operation> self) override {
    if (slot_) slot_->clear();
    slot_.reset();
    auto wait = std::move(*wait_);
    wait_.reset();
    auto result = std::move(*result_);
    result_.reset();
    self.reset();
    std::apply(std::move(wait.handler), std::move(result));
  }

  /// True if the handler's context is gone, and the wait with it.
  bool dropped() const noexcept { return dropped_.load(); }

  void drop() noexcept override {
    dropped_.store(true);
    slot_.reset();
    auto gone = std::move(wait_);
    wait_.reset();
  }

 private:
  using any_handler = net::any_completion_handler<void(diagnostics, Results...)>;

  struct wait {
    wait(const net::any_io_executor& on, any_handler h)
        : executor(
              net::require(net::prefer(on, net::execution::outstanding_work.tracked), net::execution::blocking.never)),
          handler(std::move(h)) {}

    net::any_io_executor executor;
    any_handler handler;
  };

  template <class Handler>
  static any_handler for_diagnostics(Handler handler) {
    if constexpr (takes_diagnostics<Handler, Results...>)
      return any_handler(std::move(handler));
    else
      return any_handler(adapted_handler<Handler, as_code>(std::move(handler)));
  }

  static std::shared_ptr<operation> fresh(const net::any_io_executor& executor) {
    auto made = std::make_shared<operation>(executor);
    made->entry_ = made->registry_->add(made);
    return made;
  }

  /// Orders all earlier uses of the operation before its reuse.
  static bool is_alone(const std::shared_ptr<operation>& one) {
    if (one.use_count() != 1) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }

  bool can_wait_on(const net::any_io_executor& executor) const {
    return !wait_ && !dropped() && context_ == &net::query(executor, net::execution::context);
  }

  const net::execution_context* const context_;
  const std::shared_ptr<pending_operations> registry_;
  std::optional<pending_operations::entry> entry_;
  std::optional<net::cancellation_slot> slot_;
  std::optional<wait> wait_;
  std::optional<std::tuple<diagnostics, Results...>> result_;
  std::atomic<bool> dropped_ = false;
};

}  // namespace cogen::async
