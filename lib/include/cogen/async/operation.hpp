#pragma once

#include <cogen/async/engine_executor.hpp>
#include <cogen/error.hpp>
#include <cogen/net.hpp>

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

namespace cogen::async {

class pending_operations;

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
  std::shared_ptr<pending_operation> next;  ///< links operations that still have to be posted

 protected:
  explicit pending_operation(const net::any_io_executor& executor);  ///< belongs to the executor's context
  void add_to_registry();                                            ///< its context then drops it when it ends
  bool is_of_context(const net::any_io_executor& executor) const;    ///< whether it belongs to the executor's context

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
/// States: waiting -> completed (set_result()) -> posted (post_again()) -> called (spent) -> waiting (make() reuses
/// it); from any of them -> dropped (the context is gone).
template <class... Results>
class operation final : public pending_operation {
 public:
  /// `cancel(type, operation)` is called on the thread that emits the handler's cancellation signal. Reuses `spent` if
  /// it is not referenced elsewhere and has the same context.
  template <class Handler, class Cancel>
  static std::shared_ptr<operation> make(Handler handler, const net::any_io_executor& fallback, Cancel cancel,
                                         std::shared_ptr<operation> spent = nullptr) {
    auto slot = net::get_associated_cancellation_slot(handler);
    const net::any_io_executor executor = net::get_associated_executor(handler, fallback);
    const bool again = spent && is_alone(spent) && spent->can_wait_on(executor);
    auto made = again ? std::move(spent) : std::make_shared<operation>(executor);
    if (!again) made->add_to_registry();
    made->wait_.emplace(executor, for_diagnostics(std::move(handler)));
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr(made), cancel = std::move(cancel)](net::cancellation_type type) {
        if (auto self = weak.lock()) cancel(type, self);
      });
      made->slot_ = slot;
    }
    return made;
  }

  explicit operation(const net::any_io_executor& executor) : pending_operation(executor) {}  ///< call make() instead

  /// Takes the result. `post_again()` then posts the handler.
  template <class... Values>
  void set_result(diagnostics why, Values&&... results) noexcept {
    result_.emplace(std::move(why), std::forward<Values>(results)...);
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

  /// Orders all earlier uses of the operation before its reuse.
  static bool is_alone(const std::shared_ptr<operation>& one) {
    if (one.use_count() != 1) return false;
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

/// Starts an operation with the signature `void(error_code, Results...)` on `shared`, which an engine and a handle
/// share: calls its member `start` with a wait and `args`. Cancellation calls its member `cancel`, with the wait and
/// the cancellation type if it takes them.
template <class Token, class... Results, class Shared, class Start, class Cancel, class... Args>
auto initiate(Token& token, std::shared_ptr<Shared> shared, Start start, Cancel cancel, Args... args) {
  // By value: the handler may run, and end the coroutine that holds the arguments, before this returns.
  return net::async_initiate<Token, void(error_code, Results...)>(
      [start, cancel](auto handler, std::shared_ptr<Shared> to, Args... passed) {
        using waiting = operation<Results...>;
        auto cancel_wait = [weak = std::weak_ptr(to), cancel](net::cancellation_type type, const auto& wait) {
          const auto from = weak.lock();
          if (!from) return;
          if constexpr (std::is_invocable_v<Cancel, Shared&, const waiting&, net::cancellation_type>)
            (*from.*cancel)(*wait, type);
          else if constexpr (std::is_invocable_v<Cancel, Shared&, const waiting&>)
            (*from.*cancel)(*wait);
          else
            (*from.*cancel)();
        };
        std::shared_ptr<waiting> spent;
        if constexpr (keeps_last<Shared, waiting>) spent = to->last_next();
        auto wait = waiting::make(std::move(handler), to->default_executor(), std::move(cancel_wait), std::move(spent));
        (*to.*start)(std::move(wait), std::move(passed)...);
      },
      token, std::move(shared), std::move(args)...);
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
    abort();
    shared_ = std::move(other.shared_);
    return *this;
  }

  ~handle() { abort(); }

  /// Runs work between steps, on the engine's thread.
  [[nodiscard]] executor_type get_executor() const { return executor_type(face().executor()); }
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

}  // namespace cogen::async
