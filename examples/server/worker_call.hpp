#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <type_traits>
#include <utility>

namespace server {

namespace net = boost::asio;

/// Calls `work` on a thread of `workers`, and returns what it does, also where the caller is cancelled meanwhile: that
/// is noticed by what it awaits next.
template <class Work>
net::awaitable<std::invoke_result_t<Work>> call_on(net::thread_pool& workers, Work work) {
  auto apart = [](Work job) -> net::awaitable<std::invoke_result_t<Work>> { co_return job(); };
  // co_spawn() would dispatch a cancellation to the worker, which might then find the task gone (Boost 1.81).
  const net::cancellation_slot none;
  co_return co_await net::co_spawn(workers, apart(std::move(work)),
                                   net::bind_cancellation_slot(none, net::use_awaitable));
}

}  // namespace server
