#pragma once

#include <cogen/async/pending_operations.hpp>
#include <cogen/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>

#include <atomic>
#include <optional>
#include <tuple>
#include <utility>

namespace cogen::async {

/// One pending wait of one handler for `void(error_code, Results...)`. It is completed at most once, from any thread,
/// and can then be reused for another wait.
///
/// The handler runs on its associated executor as if by post, never inside the call that completes it. The wait holds
/// outstanding work on that executor. If the executor's context is destroyed first, the handler is destroyed without
/// being called.
///
/// States: waiting -> posted (complete() took the result) -> called (spent) -> waiting (make() reuses it); from any of
/// them -> dropped (the context is gone).
template <class... Results>
class operation final : public pending_operation, public std::enable_shared_from_this<operation<Results...>> {
 public:
  /// What the handler is called with.
  using signature = void(error_code, Results...);

  /// `cancel(type, operation)` is called on the thread that emits the handler's cancellation signal. Reuses `spent` if
  /// it is not referenced elsewhere and has the same context.
  template <class Handler, class Cancel>
  static std::shared_ptr<operation> make(Handler handler, const net::any_io_executor& fallback, Cancel cancel,
                                         std::shared_ptr<operation> spent = nullptr) {
    auto slot = net::get_associated_cancellation_slot(handler);
    const net::any_io_executor executor = net::get_associated_executor(handler, fallback);
    const bool again = spent && is_alone(spent) && spent->can_wait_on(executor);
    auto made = again ? std::move(spent) : fresh(executor);
    made->wait_.emplace(executor, net::any_completion_handler<signature>(std::move(handler)));
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

  /// Takes the result, made of `results`, and posts the handler. Returns false if there is no memory for that; call
  /// `post_again()` later.
  template <class... Values>
  bool complete(error_code code, Values&&... results) noexcept {
    set_result(code, std::forward<Values>(results)...);
    return post_again();
  }

  /// The first half of complete(): takes the result. `post_again()` is the other half.
  template <class... Values>
  void set_result(error_code code, Values&&... results) noexcept {
    result_.emplace(code, std::forward<Values>(results)...);
  }

  bool post_again() noexcept override try {
    registry_->post(this->shared_from_this());
    return true;
  } catch (...) {
    return false;
  }

  const net::any_io_executor* executor() const noexcept override { return wait_ ? &wait_->executor : nullptr; }

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
  struct wait {
    wait(const net::any_io_executor& on, net::any_completion_handler<signature> h)
        : executor(
              net::require(net::prefer(on, net::execution::outstanding_work.tracked), net::execution::blocking.never)),
          handler(std::move(h)) {}

    net::any_io_executor executor;
    net::any_completion_handler<signature> handler;
  };

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
  std::optional<std::tuple<error_code, Results...>> result_;
  std::atomic<bool> dropped_ = false;
};

}  // namespace cogen::async
