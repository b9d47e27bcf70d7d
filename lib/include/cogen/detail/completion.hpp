#pragma once

#include <cogen/error.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

/// @cond
namespace boost::asio::experimental {

template <class Allocator>
struct use_coro_t;

}  // namespace boost::asio::experimental
/// @endcond

namespace cogen::detail {

/// A handler that an operation calls with diagnostics instead of their code.
template <class Handler, class... Results>
concept takes_diagnostics =
    requires { typename Handler::takes_diagnostics; } && std::invocable<Handler, diagnostics, Results...>;

/// Has `form` call `handler` with diagnostics and results. Its associated executor, allocator and cancellation slot are
/// those of `handler`.
template <class Handler, class Form>
class adapted_handler {
 public:
  using takes_diagnostics = void;

  /// Takes over the handler.
  explicit adapted_handler(Handler handler, Form form = {}) : handler_(std::move(handler)), form_(form) {}
  const Handler& get() const noexcept { return handler_; }  ///< the handler

  /// Calls the handler.
  template <class... Results>
  void operator()(const diagnostics& why, Results&&... results) {
    form_(std::move(handler_), why, std::forward<Results>(results)...);
  }

 private:
  Handler handler_;
  [[no_unique_address]] Form form_;
};

/// The form of handlers for void(error_code, Results...): the code alone.
struct as_code {
  /// Calls the handler.
  template <class Handler, class... Results>
  void operator()(Handler&& handler, const diagnostics& why, Results&&... results) const {
    std::forward<Handler>(handler)(why.code(), std::forward<Results>(results)...);
  }
};

/// The form of handlers for void(std::exception_ptr, Results...).
struct as_exception {
  /// A generation_error, or std::bad_alloc if there is no memory for it. Null if nothing failed.
  static std::exception_ptr make_exception(const diagnostics& why) noexcept;

  /// Calls the handler.
  template <class Handler, class... Results>
  void operator()(Handler&& handler, const diagnostics& why, Results&&... results) const {
    std::forward<Handler>(handler)(make_exception(why), std::forward<Results>(results)...);
  }
};

/// The form of handlers for void(Results...).
struct redirected {
  template <class Handler, class... Results>
  void operator()(Handler&& handler, const diagnostics& why, Results&&... results) const {
    *target = why;
    std::forward<Handler>(handler)(std::forward<Results>(results)...);
  }

  diagnostics* target = nullptr;
};

/// Starts what `initiation` starts, for a handler that `form` calls. Has the executor of `initiation`.
template <class Initiation, class Form>
class adapted_initiation {
 public:
  using executor_type = net::associated_executor_t<Initiation>;

  /// Takes over the initiation.
  explicit adapted_initiation(Initiation initiation, Form form = {})
      : initiation_(std::move(initiation)), form_(form) {}

  executor_type get_executor() const noexcept { return net::get_associated_executor(initiation_); }  ///< its executor

  /// Starts it.
  template <class Handler, class... Args>
  void operator()(Handler&& handler, Args&&... args) && {
    std::move(initiation_)(adapted(std::forward<Handler>(handler)), std::forward<Args>(args)...);
  }

  /// Starts a copy of it.
  template <class Handler, class... Args>
  void operator()(Handler&& handler, Args&&... args) const& {
    auto copy = initiation_;
    std::move(copy)(adapted(std::forward<Handler>(handler)), std::forward<Args>(args)...);
  }

 private:
  template <class Handler>
  auto adapted(Handler&& handler) const {
    return adapted_handler<std::decay_t<Handler>, Form>(std::forward<Handler>(handler), form_);
  }

  Initiation initiation_;
  [[no_unique_address]] Form form_;
};

/// The completion token of an operation that is started without one: as net::deferred, but `co_await` throws
/// generation_error with the message of the failure; with an operation of another library, the message of the code.
/// The deferred operation's signature is void(std::exception_ptr, Results...) for void(error_code, Results...); others
/// stay.
struct throwing_t {};

inline constexpr throwing_t throwing;

/// Whether the token throws the error of void(error_code, Results...), and gives the results alone.
template <class Token>
struct throws_error : std::false_type {};
template <class Executor>
struct throws_error<net::use_awaitable_t<Executor>> : std::true_type {};
template <class Allocator>
struct throws_error<net::use_future_t<Allocator>> : std::true_type {};
template <class Allocator>
struct throws_error<net::experimental::use_coro_t<Allocator>> : std::true_type {};
template <class Token, class Executor>
struct throws_error<net::executor_binder<Token, Executor>> : throws_error<Token> {};
template <class Token, class Allocator>
struct throws_error<net::allocator_binder<Token, Allocator>> : throws_error<Token> {};
template <class Token, class Slot>
struct throws_error<net::cancellation_slot_binder<Token, Slot>> : throws_error<Token> {};
/// A token with a time limit: net::cancel_after() and net::cancel_at() of newer versions of Asio.
template <template <class, class, class...> class Limited, class Token, class Clock, class... More>
  requires requires { typename Clock::time_point; }
struct throws_error<Limited<Token, Clock, More...>> : throws_error<Token> {};

/// Whether the token is net::experimental::use_coro. Asio's coroutine for it runs on the operation's executor, and a
/// coro that has another one must not await it: that reads a null pointer (Boost 1.81 to 1.88).
template <class Token>
struct is_use_coro : std::false_type {};
template <class Allocator>
struct is_use_coro<net::experimental::use_coro_t<Allocator>> : std::true_type {};

}  // namespace cogen::detail

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
struct boost::asio::associator<Associator, cogen::detail::adapted_handler<Handler, Form>, Default>
    : Associator<Handler, Default> {
  static auto get(const cogen::detail::adapted_handler<Handler, Form>& adapted) noexcept {
    return Associator<Handler, Default>::get(adapted.get());
  }
  static auto get(const cogen::detail::adapted_handler<Handler, Form>& adapted, const Default& otherwise) noexcept {
    return Associator<Handler, Default>::get(adapted.get(), otherwise);
  }
};

template <class Signature>
class boost::asio::async_result<cogen::detail::throwing_t, Signature> {
 public:
  template <class Initiation, class... Args>
  static auto initiate(Initiation&& initiation, cogen::detail::throwing_t, Args&&... args) {
    return async_initiate<const deferred_t, Signature>(std::forward<Initiation>(initiation), deferred,
                                                       std::forward<Args>(args)...);
  }
};

template <class... Results>
class boost::asio::async_result<cogen::detail::throwing_t, void(cogen::error_code, Results...)> {
 public:
  template <class Initiation, class... Args>
  static auto initiate(Initiation&& initiation, cogen::detail::throwing_t, Args&&... args) {
    using adapted = cogen::detail::adapted_initiation<std::decay_t<Initiation>, cogen::detail::as_exception>;
    return async_initiate<const deferred_t, void(std::exception_ptr, Results...)>(
        adapted(std::forward<Initiation>(initiation)), deferred, std::forward<Args>(args)...);
  }
};

template <class Token, class... Results>
class boost::asio::async_result<cogen::redirect_diagnostics_t<Token>, void(cogen::error_code, Results...)> {
  template <class Initiation>
  using adapted = cogen::detail::adapted_initiation<std::decay_t<Initiation>, cogen::detail::redirected>;

 public:
  template <class Initiation, class Redirecting, class... Args>
  static auto initiate(Initiation&& initiation, Redirecting&& token, Args&&... args)
      -> decltype(async_initiate<Token, void(Results...)>(std::declval<adapted<Initiation>>(), token.token(),
                                                          std::forward<Args>(args)...)) {
    return async_initiate<Token, void(Results...)>(
        adapted<Initiation>(std::forward<Initiation>(initiation), cogen::detail::redirected{&token.why()}),
        token.token(), std::forward<Args>(args)...);
  }
};
/// @endcond
