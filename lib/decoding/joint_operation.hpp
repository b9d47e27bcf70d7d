#pragma once

#include <cogen/detail/engine_executor.hpp>
#include <cogen/error.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::decoding {

/// Several operations of one kind, awaited as one. For the engine's thread, on which their handlers run.
///
/// Only the handlers own it: if they are destroyed without being called, because the engine has ended, so is the
/// coroutine that waits.
template <class Result>
class joint_operation : public std::enable_shared_from_this<joint_operation<Result>> {
 public:
  joint_operation(engine_executor executor, std::size_t count)
      : executor_(std::move(executor)), cancellations_(count), results_(count), pending_(count) {}

  /// Receives the result of operation `index`. To be passed to it as its completion token.
  class handler {
   public:
    using takes_diagnostics = void;
    using executor_type = engine_executor;
    using cancellation_slot_type = net::cancellation_slot;

    handler(std::shared_ptr<joint_operation> operation, std::size_t index)
        : operation_(std::move(operation)), index_(index) {}

    executor_type get_executor() const noexcept { return operation_->executor_; }
    cancellation_slot_type get_cancellation_slot() const noexcept { return operation_->cancellations_[index_].slot(); }

    void operator()(const diagnostics& why, Result result) {
      auto operation = std::move(operation_);
      operation->results_[index_] = std::move(result);
      operation->complete_one(why);
    }

   private:
    std::shared_ptr<joint_operation> operation_;
    std::size_t index_;
  };

  handler handler_of(std::size_t index) { return handler(this->shared_from_this(), index); }

  /// Waits for all of them, once all have begun. If some failed, throws generation_error for the first that did.
  static net::awaitable<std::vector<Result>> wait(std::shared_ptr<joint_operation> operation) {
    return net::async_initiate<const net::use_awaitable_t<>, void(std::exception_ptr, std::vector<Result>)>(
        [operation = std::move(operation)](auto waiter) mutable {
          const auto waiting = std::move(operation);
          auto slot = net::get_associated_cancellation_slot(waiter);
          if (slot.is_connected())
            slot.assign([weak = std::weak_ptr(waiting)](net::cancellation_type type) {
              if (const auto still = weak.lock()) still->cancel(type);
            });
          waiting->waiter_.emplace(std::move(waiter));
        },
        net::use_awaitable);
  }

 private:
  void cancel(net::cancellation_type type) {
    for (auto& each : cancellations_) each.emit(type);
  }

  void complete_one(const diagnostics& why) {
    if (why && !error_) error_ = why;
    if (--pending_ > 0 || !waiter_) return;
    auto waiter = std::move(*waiter_);
    waiter_.reset();
    auto slot = net::get_associated_cancellation_slot(waiter);
    if (slot.is_connected()) slot.clear();
    std::move(waiter)(error_ ? detail::as_exception::make_exception(error_) : nullptr, std::move(results_));
  }

  const engine_executor executor_;
  std::deque<net::cancellation_signal> cancellations_;
  std::vector<Result> results_;
  std::size_t pending_;
  diagnostics error_;
  std::optional<net::any_completion_handler<void(std::exception_ptr, std::vector<Result>)>> waiter_;
};

/// Calls `begin(index, handler)` for each index below `count`, which starts an operation, and waits for all of them.
/// They begin together, so that the next step has a row of each.
template <class Result, class Begin>
net::awaitable<std::vector<Result>> join(engine_executor executor, std::size_t count, Begin begin) {
  auto operation = std::make_shared<joint_operation<Result>>(std::move(executor), count);
  for (std::size_t i = 0; i < count; ++i) begin(i, operation->handler_of(i));
  return joint_operation<Result>::wait(std::move(operation));
}

}  // namespace cogen::decoding
