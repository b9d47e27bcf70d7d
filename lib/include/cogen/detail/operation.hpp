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
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cogen::detail {

class pending_operation;
class pending_operations;

/// What a pending operation belongs to. Keeps what the operation hands over until its handler runs, so that a
/// cancellation before that loses nothing.
class result_owner {
 public:
  virtual ~result_owner() = default;
  /// Where the handlers run that have no executor of their own.
  virtual net::any_io_executor default_executor() const = 0;
  /// The handler of `wait` asks for its cancellation, on the thread that emits the signal.
  virtual void cancel(const pending_operation& wait, net::cancellation_type type) noexcept = 0;
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
  using signature = void(error_code, Results...);
  using throwing_signature = void(std::exception_ptr, Results...);

  /// Reuses `spent` if it is not referenced elsewhere and has the same context.
  template <class Handler>
  static std::shared_ptr<operation> make(Handler handler, const net::any_io_executor& fallback,
                                         std::shared_ptr<result_owner> owner = nullptr,
                                         std::shared_ptr<operation> spent = nullptr) {
    auto slot = net::get_associated_cancellation_slot(handler);
    const auto executor = live(net::get_associated_executor(handler, fallback));
    const bool again = spent && is_alone(spent) && spent->can_wait_on(executor);
    auto result = again ? std::move(spent) : std::make_shared<operation>(executor);
    if (!again) result->add_to_registry();
    result->wait_.emplace(executor, for_diagnostics(std::move(handler)));
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr(result), weak_owner = std::weak_ptr(owner)](net::cancellation_type type) {
        const auto self = weak.lock();
        const auto shared = weak_owner.lock();
        if (self && shared) shared->cancel(*self, type);
      });
      result->slot_ = slot;
    }
    result->owner_ = std::move(owner);
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

template <class Signature>
class initiation;

/// Starts an operation with these arguments and this result: calls `start` with its owner, a wait and the arguments.
/// `last` gives away the wait of the owner's operation before, which can be reused, or null. Its executor is that of
/// handlers without an own one; tokens that need a timer make it there.
template <class Result, class... Args>
class initiation<Result(Args...)> {
 public:
  using executor_type = fallback_executor;
  using operation_type = std::conditional_t<std::is_void_v<Result>, operation<>, operation<Result>>;
  using start_function = void(result_owner& owner, std::shared_ptr<operation_type>&& wait, Args&&... args);
  using last_function = std::shared_ptr<operation_type>(result_owner& owner);

  /// See initiate().
  initiation(std::shared_ptr<result_owner> owner, start_function* start, last_function* last = nullptr)
      : owner_(std::move(owner)), start_(start), last_(last) {}

  executor_type get_executor() const noexcept { return executor_type(owner_->default_executor()); }  ///< the fallback

  /// Starts it. By value: the handler may run, and end the coroutine that holds this and the arguments, before start()
  /// returns.
  template <class Handler>
  void operator()(Handler handler, Args... args) const {
    const auto owner = owner_;
    const auto start = start_;
    auto spent = last_ ? last_(*owner) : nullptr;
    auto wait = operation_type::make(std::move(handler), owner->default_executor(), owner, std::move(spent));
    const std::weak_ptr weak = wait;
    try {
      start(*owner, std::move(wait), std::move(args)...);
    } catch (...) {
      if (const auto left = weak.lock()) left->drop();  // its owner and it would keep each other
      throw;
    }
  }

 private:
  std::shared_ptr<result_owner> owner_;
  start_function* start_;
  last_function* last_;
};

/// Starts an operation with the signature `void(error_code, Results...)`, as `begin` does. Tokens that throw the error
/// throw generation_error, with the message. With use_coro it is deferred, and completes where the coro runs that
/// awaits it.
template <class Token, class Signature, class... Args>
auto initiate(Token& token, initiation<Signature> begin, Args... args) {
  using starting = initiation<Signature>;
  using operation_type = typename starting::operation_type;
  using token_type = std::remove_cvref_t<Token>;
  if constexpr (is_use_coro<token_type>::value)
    return net::async_initiate<const throwing_t, typename operation_type::signature>(std::move(begin), throwing,
                                                                                     std::move(args)...);
  else if constexpr (throws_error<token_type>::value)
    return net::async_initiate<Token, typename operation_type::throwing_signature>(
        adapted_initiation<starting, as_exception>(std::move(begin)), token, std::move(args)...);
  else
    return net::async_initiate<Token, typename operation_type::signature>(std::move(begin), token, std::move(args)...);
}

/// What handles have in common: a share of the engine's state, which they abort when they are destroyed or replaced.
template <class State>
class handle {
 public:
  explicit handle(std::shared_ptr<State> shared) noexcept : shared_(std::move(shared)) {}  ///< shares that state
  handle(handle&&) noexcept = default;

  handle& operator=(handle&& other) noexcept {
    if (this == &other) return *this;
    if (shared_) abort();
    shared_ = std::move(other.shared_);
    return *this;
  }

  ~handle() {
    if (shared_) abort();
  }

 protected:
  /// The state; the handle must not have been moved from.
  const std::shared_ptr<State>& shared() const noexcept {
    assert(shared_ && "the handle was moved from");
    return shared_;
  }

 private:
  void abort() noexcept;

  std::shared_ptr<State> shared_;
};

}  // namespace cogen::detail
