#include "worker_call.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <future>
#include <stdexcept>

namespace net = boost::asio;

namespace {

/// A caller on one thread, whose work another one does.
struct called {
  net::io_context context;
  net::thread_pool workers{1};
  net::cancellation_signal cancel;
  std::promise<void> begun, may_end;
  int result = 0;
  bool over = false, went_on = false;

  net::awaitable<void> call() {
    result = co_await server::call_on(workers, [this] {
      begun.set_value();
      may_end.get_future().wait();
      return 7;
    });
    co_await net::post(context, net::use_awaitable);
    went_on = true;
  }

  void start() {
    net::co_spawn(context, call(),
                  net::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr) { over = true; }));
    context.poll();
    begun.get_future().wait();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(worker_calls)

BOOST_AUTO_TEST_CASE(a_caller_that_is_cancelled_as_its_work_ends_leaves_the_worker_nothing) {
  called caller;
  caller.start();
  std::promise<void> work_has_ended, caller_is_gone;
  const auto hold = [&] {
    work_has_ended.set_value();
    caller_is_gone.get_future().wait();
  };
  net::post(caller.context, [&] {  // before the caller hears of the end
    work_has_ended.get_future().wait();
    caller.cancel.emit(net::cancellation_type::terminal);
  });
  caller.may_end.set_value();
  net::post(caller.workers, [&] { net::post(caller.workers, hold); });  // behind all that the work itself posts
  while (!caller.over) caller.context.run_one();
  BOOST_TEST(caller.result == 7);
  BOOST_TEST(!caller.went_on);
  caller_is_gone.set_value();
  caller.workers.join();
}

BOOST_AUTO_TEST_CASE(what_work_throws_reaches_its_caller) {
  net::io_context context;
  net::thread_pool workers(1);
  auto result =
      net::co_spawn(context, server::call_on(workers, []() -> int { throw std::out_of_range("a"); }), net::use_future);
  context.run();
  BOOST_CHECK_THROW(result.get(), std::out_of_range);
}

BOOST_AUTO_TEST_SUITE_END()
