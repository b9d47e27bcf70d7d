#pragma once

#include <cogen/error.hpp>
#include <cogen/net.hpp>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace cogen::async {

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

  void close();  ///< destroys the queued handlers, and discards later ones

 private:
  std::recursive_mutex mutex_;  // without memory for a function, it is destroyed in post(), and may post another
  bool closed_ = false;
  net::executor_work_guard<executor_type> work_;
};

/// A handler that an operation calls with diagnostics instead of their code.
template <class Handler, class... Results>
concept takes_diagnostics =
    requires { typename Handler::takes_diagnostics; } && std::invocable<Handler, diagnostics, Results...>;

/// Calls `handler` with `Form::of(diagnostics)` instead of diagnostics. Its associated executor, allocator and
/// cancellation slot are those of `handler`.
template <class Handler, class Form>
class adapted_handler {
 public:
  using takes_diagnostics = void;

  explicit adapted_handler(Handler handler) : handler_(std::move(handler)) {}  ///< takes over the handler
  const Handler& get() const noexcept { return handler_; }                     ///< the handler

  /// Calls the handler.
  template <class... Results>
  void operator()(const diagnostics& why, Results&&... results) {
    std::move(handler_)(Form::of(why), std::forward<Results>(results)...);
  }

 private:
  Handler handler_;
};

/// The form of handlers for void(error_code, Results...).
struct as_code {
  static const error_code& of(const diagnostics& why) noexcept { return why.code(); }  ///< the code alone
};

/// The form of handlers for void(std::exception_ptr, Results...).
struct as_exception {
  /// A generation_error, or std::bad_alloc if there is no memory for it. Null if nothing failed.
  static std::exception_ptr of(const diagnostics& why) noexcept;
};

/// The completion token of an operation that is started without one: as net::deferred, but `co_await` throws
/// generation_error with the sentence of the failure; with an operation of another library, the message of the code.
/// The deferred operation's signature is void(std::exception_ptr, Results...) for void(error_code, Results...); others
/// stay.
struct throwing_t {};

inline constexpr throwing_t throwing;

/// Runs handlers between decode steps, on the thread that drives the engine. They must not block. It may be used after
/// the engine is gone; then it discards handlers. Thread-safe.
class engine_executor {
 public:
  using default_completion_token_type = throwing_t;

  /// Runs handlers in this queue, of which it shares ownership.
  explicit engine_executor(std::shared_ptr<engine_queue> queue) noexcept : queue_(std::move(queue)) {}

  /// Asio's executor requirements: never runs a handler within execute().
  net::execution_context& query(net::execution::context_t) const noexcept { return *queue_; }
  engine_executor require(net::execution::blocking_t::never_t) const { return *this; }
  /// The same.
  static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
    return net::execution::blocking.never;
  }

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

/// @cond
namespace boost::asio::detail {

/// To test the result of void(std::exception_ptr, T) for an exception, net::awaitable of Boost 1.81 dereferences the
/// result instead of its member `ex_`.
template <class Result>
  requires std::same_as<decltype(Result::ex_), std::exception_ptr*>
std::exception_ptr& operator*(Result& result) noexcept {
  return *result.ex_;
}

}  // namespace boost::asio::detail

template <template <class, class> class Associator, class Handler, class Form, class Default>
struct boost::asio::associator<Associator, cogen::async::adapted_handler<Handler, Form>, Default>
    : Associator<Handler, Default> {
  static auto get(const cogen::async::adapted_handler<Handler, Form>& adapted) noexcept {
    return Associator<Handler, Default>::get(adapted.get());
  }
  static auto get(const cogen::async::adapted_handler<Handler, Form>& adapted, const Default& otherwise) noexcept {
    return Associator<Handler, Default>::get(adapted.get(), otherwise);
  }
};

template <class Signature>
class boost::asio::async_result<cogen::async::throwing_t, Signature> {
 public:
  template <class Initiation, class... Args>
  static auto initiate(Initiation&& initiation, cogen::async::throwing_t, Args&&... args) {
    return async_initiate<const deferred_t, Signature>(std::forward<Initiation>(initiation), deferred,
                                                       std::forward<Args>(args)...);
  }
};

template <class... Results>
class boost::asio::async_result<cogen::async::throwing_t, void(cogen::error_code, Results...)> {
 public:
  template <class Initiation, class... Args>
  static auto initiate(Initiation&& initiation, cogen::async::throwing_t, Args&&... args) {
    return async_initiate<const deferred_t, void(std::exception_ptr, Results...)>(
        [initiation = std::forward<Initiation>(initiation)]<class Handler, class... Passed>(
            Handler&& handler, Passed&&... passed) mutable {
          using adapted = cogen::async::adapted_handler<std::decay_t<Handler>, cogen::async::as_exception>;
          std::move(initiation)(adapted(std::forward<Handler>(handler)), std::forward<Passed>(passed)...);
        },
        deferred, std::forward<Args>(args)...);
  }
};
/// @endcond
