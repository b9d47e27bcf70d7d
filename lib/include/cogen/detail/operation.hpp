#pragma once

#include <cogen/detail/engine_executor.hpp>
#include <cogen/error.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>

#include <atomic>
#include <cassert>
#include <concepts>
#include <list>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cogen::detail {

class pending_operation;
class pending_operations;

/// Keeps what an operation hands over until its handler runs, so that a cancellation before that loses nothing.
class result_owner {
 public:
  virtual ~result_owner() = default;
  /// The handler of `called` runs now: sets its result, unless it has one, and gives up the operation.
  virtual void settle(pending_operation& called) noexcept = 0;
  /// The handler of `dropped` will never run.
  virtual void drop(pending_operation& /*dropped*/) noexcept {}
};

/// An operation that waits on behalf of a handler of some execution context, with which it is registered.
class pending_operation : public std::enable_shared_from_this<pending_operation> {
 public:
  pending_operation(const pending_operation&) = delete;
  pending_operation& operator=(const pending_operation&) = delete;
  virtual ~pending_operation();

  /// Destroys the handler without calling it, because its context is being destroyed.
  virtual void drop() noexcept = 0;
  /// Where the handler of a completed operation runs, never within execute().
  virtual net::any_io_executor executor() const noexcept = 0;
  /// Calls the handler of a completed operation, on that executor, after releasing `self`, which is this operation.
  virtual void call(std::shared_ptr<pending_operation> self) = 0;
  /// Posts the handler of a completed operation. Returns false, and changes nothing, if there is no memory for that.
  bool post_again() noexcept;
  /// Marks it as completed: its handler is posted, or soon will be. Returns whether it was before. Under its owner's
  /// lock, as completed().
  bool complete() noexcept;
  bool completed() const noexcept { return completed_; }  ///< see complete()
  std::shared_ptr<pending_operation> next;                ///< links operations that still have to be posted

 protected:
  explicit pending_operation(const net::any_io_executor& executor);  ///< belongs to the executor's context
  /// The executor; in the child of a fork(), another one in place of the system's, which use_future has.
  static net::any_io_executor live(net::any_io_executor executor);
  void add_to_registry();                                          ///< its context then drops it when it ends
  bool is_of_context(const net::any_io_executor& executor) const;  ///< whether it belongs to the executor's context

  std::shared_ptr<result_owner> owner_;  ///< while it waits; null: the result is set when it is completed
  bool completed_ = false;

 private:
  const net::execution_context* const context_;
  const std::shared_ptr<pending_operations> registry_;
  std::optional<std::list<std::weak_ptr<pending_operation>>::iterator> entry_;
};

/// One pending wait of one handler for `void(error_code, Results...)`, or for `(diagnostics, Results...)` if the
/// handler has a nested type `takes_diagnostics`. It completes at most once, from any thread, and can then be reused.
///
/// The handler runs on its associated executor as if by post, never inside the call that completes it. The wait holds
/// outstanding work on that executor. If its context is destroyed first, the handler is destroyed without being called.
///
/// States: waiting -> completed (complete()) -> posted (post_again()) -> called (spent) -> waiting (make() reuses it);
/// from any of them -> dropped (the context is gone). Until it is called, its owner may still change the result, under
/// the owner's lock; what is called asks the owner for it.
template <class... Results>
class operation final : public pending_operation {
 public:
  /// `cancel(type, operation)` is called on the thread that emits the handler's cancellation signal. Reuses `spent` if
  /// it is not referenced elsewhere and has the same context.
  template <class Handler, class Cancel>
  static std::shared_ptr<operation> make(Handler handler, const net::any_io_executor& fallback, Cancel cancel,
                                         std::shared_ptr<result_owner> owner = nullptr,
                                         std::shared_ptr<operation> spent = nullptr) {
    auto slot = net::get_associated_cancellation_slot(handler);
    const auto executor = live(net::get_associated_executor(handler, fallback));
    const bool again = spent && is_alone(spent) && spent->can_wait_on(executor);
    auto result = again ? std::move(spent) : std::make_shared<operation>(executor);
    if (!again) result->add_to_registry();
    result->wait_.emplace(executor, for_diagnostics(std::move(handler)));
    result->owner_ = std::move(owner);
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr(result), cancel = std::move(cancel)](net::cancellation_type type) {
        if (auto self = weak.lock()) cancel(type, self);
      });
      result->slot_ = slot;
    }
    return result;
  }

  explicit operation(const net::any_io_executor& executor) : pending_operation(executor) {}  ///< call make() instead

  /// Takes the result, or another one. `post_again()` posts the handler.
  template <class... Values>
  void set_result(diagnostics why, Values&&... results) noexcept {
    result_.emplace(std::move(why), std::forward<Values>(results)...);
  }

  net::any_io_executor executor() const noexcept override { return wait_->executor; }

  void call(std::shared_ptr<pending_operation> self) override {
    if (slot_) slot_->clear();
    slot_.reset();
    if (const auto owner = std::move(owner_)) owner->settle(*this);
    completed_ = false;
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
    if (const auto owner = std::move(owner_)) owner->drop(*this);
    auto gone = std::move(wait_);
    wait_.reset();
  }

 private:
  using any_handler = net::any_completion_handler<void(diagnostics, Results...)>;

  struct wait {
    wait(const net::any_io_executor& ex, any_handler h)
        : executor(
              net::require(net::prefer(ex, net::execution::outstanding_work.tracked), net::execution::blocking.never)),
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

  /// Orders all earlier uses of the operation before its reuse.
  static bool is_alone(const std::shared_ptr<operation>& spent) {
    if (spent.use_count() != 1) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }

  bool can_wait_on(const net::any_io_executor& executor) const {
    return !wait_ && !dropped() && is_of_context(executor);
  }

  std::optional<net::cancellation_slot> slot_;
  std::optional<wait> wait_;
  std::optional<std::tuple<diagnostics, Results...>> result_;
  std::atomic<bool> dropped_ = false;
};

/// Has a `last_next()`: the wait of the operation before, which can be reused, or null.
template <class Shared, class Operation>
concept keeps_last = requires(Shared& shared, std::shared_ptr<Operation>& last) { last = shared.last_next(); };

/// Starts an operation on `shared`, which an engine and a handle share: calls its member `start` with a wait and the
/// arguments. Cancellation calls its member `cancel`, with the wait and the cancellation type if it takes them. Its
/// executor is that of handlers without an own one; tokens that need a timer make it there.
template <class Shared, class Start, class Cancel, class... Results>
class initiation {
 public:
  using executor_type = fallback_executor;

  /// See initiate().
  initiation(std::shared_ptr<Shared> shared, Start start, Cancel cancel)
      : shared_(std::move(shared)), start_(start), cancel_(cancel) {}

  executor_type get_executor() const noexcept { return executor_type(shared_->default_executor()); }  ///< the fallback

  /// Starts it. By value: the handler may run, and end the coroutine that holds this and the arguments, before start()
  /// returns.
  template <class Handler, class... Args>
  void operator()(Handler handler, Args... args) const {
    using waiting = operation<Results...>;
    const auto shared = shared_;
    const auto start = start_;
    std::shared_ptr<waiting> spent;
    if constexpr (keeps_last<Shared, waiting>) spent = shared->last_next();
    auto wait = waiting::make(std::move(handler), shared->default_executor(), cancellation(shared, cancel_), shared,
                              std::move(spent));
    const std::weak_ptr<waiting> weak = wait;
    try {
      (*shared.*start)(std::move(wait), std::move(args)...);
    } catch (...) {
      if (const auto left = weak.lock()) left->drop();  // its owner and it would keep each other
      throw;
    }
  }

 private:
  static auto cancellation(std::weak_ptr<Shared> weak, Cancel cancel) {
    return [weak = std::move(weak), cancel](net::cancellation_type type, const auto& wait) {
      const auto shared = weak.lock();
      if (!shared) return;
      if constexpr (std::is_invocable_v<Cancel, Shared&, const operation<Results...>&, net::cancellation_type>)
        (*shared.*cancel)(*wait, type);
      else if constexpr (std::is_invocable_v<Cancel, Shared&, const operation<Results...>&>)
        (*shared.*cancel)(*wait);
      else
        (*shared.*cancel)();
    };
  }

  std::shared_ptr<Shared> shared_;
  Start start_;
  Cancel cancel_;
};

/// Starts an operation with the signature `void(error_code, Results...)`, as an `initiation` does. Tokens that throw
/// the error throw generation_error, with the message. With use_coro it is deferred, and completes where the coro runs
/// that awaits it.
template <class Token, class... Results, class Shared, class Start, class Cancel, class... Args>
auto initiate(Token& token, std::shared_ptr<Shared> shared, Start start, Cancel cancel, Args... args) {
  using starting = initiation<Shared, Start, Cancel, Results...>;
  starting begin(std::move(shared), start, cancel);
  using token_type = std::remove_cvref_t<Token>;
  if constexpr (is_use_coro<token_type>::value)
    return net::async_initiate<const throwing_t, void(error_code, Results...)>(std::move(begin), throwing,
                                                                               std::move(args)...);
  else if constexpr (throws_error<token_type>::value)
    return net::async_initiate<Token, void(std::exception_ptr, Results...)>(
        adapted_initiation<starting, as_exception>(std::move(begin)), token, std::move(args)...);
  else
    return net::async_initiate<Token, void(error_code, Results...)>(std::move(begin), token, std::move(args)...);
}

/// What handles have in common: a share of the engine's state, which they abort when they are destroyed or replaced.
template <class Face, class Executor>
class handle {
 public:
  using executor_type = Executor;
  using default_completion_token = net::default_completion_token_t<executor_type>;

  explicit handle(std::shared_ptr<Face> shared) noexcept : shared_(std::move(shared)) {}  ///< shares that state
  handle(handle&&) noexcept = default;
  /// Takes over a handle with another executor type.
  template <class Other>
    requires(!std::same_as<Other, Executor>)
  handle(handle<Face, Other>&& other) noexcept : shared_(std::move(other.shared_)) {}

  handle& operator=(handle&& other) noexcept {
    if (this == &other) return *this;
    abort();
    shared_ = std::move(other.shared_);
    return *this;
  }

  ~handle() { abort(); }

  /// Its number in the engine's events and traces.
  [[nodiscard]] auto id() const { return face().id(); }

 protected:
  /// The state; the handle must not have been moved from.
  const std::shared_ptr<Face>& shared() const noexcept {
    assert(shared_ && "the handle was moved from");
    return shared_;
  }

  Face& face() const noexcept { return *shared(); }

 private:
  template <class, class>
  friend class handle;

  void abort() noexcept {
    if (shared_) shared_->abort();
  }

  std::shared_ptr<Face> shared_;
};

}  // namespace cogen::detail
