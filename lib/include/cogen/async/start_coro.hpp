#pragma once

#include <cogen/net.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/version.hpp>

#include <exception>
#include <type_traits>
#include <utility>

/// @cond
namespace boost::asio::experimental {

template <class Allocator>
struct use_coro_t;
template <class Yield, class Return, class Executor, class Allocator>
struct coro;

}  // namespace boost::asio::experimental
/// @endcond

namespace cogen::async {

template <class Token>
struct is_use_coro : std::false_type {};
template <class Allocator>
struct is_use_coro<net::experimental::use_coro_t<Allocator>> : std::true_type {};

/// What net::experimental::use_coro should return for an operation with the signature void(std::exception_ptr, Results
/// ...): it loses the results in older versions of Asio, seen in 1.26.
inline constexpr bool loses_results_of_coro = BOOST_ASIO_VERSION < 103402;

template <class Return, class... Results, class Allocator, class Initiation, class... Args>
auto start_coro(Initiation initiation, Allocator, Args... args)
    -> net::experimental::coro<void(), Return, net::any_io_executor, Allocator> {
  co_return co_await net::deferred_async_operation<void(std::exception_ptr, Results...), Initiation, Args...>(
      net::deferred_init_tag{}, std::move(initiation), std::move(args)...);
}

}  // namespace cogen::async
