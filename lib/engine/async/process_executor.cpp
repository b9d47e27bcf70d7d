#include "engine/async/process_executor.hpp"

#include "engine/async/forkable_mutex.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <mutex>
#include <utility>

namespace cogen::detail {
namespace {

/// Never destroyed, as its threads may run until the process ends. A child of the child has another one.
net::thread_pool& pool_of_child() {
  static forkable_mutex mutex;
  static net::thread_pool* pool = nullptr;
  static unsigned owner = 0;
  const std::lock_guard lock(mutex);
  if (std::exchange(owner, process_generation()) != process_generation()) pool = new net::thread_pool;
  return *pool;
}

}  // namespace

net::any_io_executor process_executor() {
  if (process_generation() == 0) return net::system_executor();
  return pool_of_child().get_executor();
}

net::any_io_executor in_this_process(net::any_io_executor executor) {
  if (process_generation() == 0) return executor;
  const auto context_of = [](const auto& ex) { return &net::query(ex, net::execution::context); };
  const net::execution_context* const of_system = context_of(net::system_executor());
  return context_of(executor) == of_system ? process_executor() : executor;
}

}  // namespace cogen::detail
