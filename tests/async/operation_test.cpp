// How the handlers of completed operations are called.
#include <cogen/detail/operation.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace cogen::detail {
namespace {

using int_operation = operation<int>;

template <class Handler>
std::shared_ptr<int_operation> waiting(const net::any_io_executor& where, Handler handler) {
  return int_operation::make(std::move(handler), where);
}

void complete(int_operation& waiting, int value = 0) {
  waiting.set_result(error_code(), value);
  BOOST_TEST(waiting.post_again());
}

BOOST_AUTO_TEST_SUITE(completions)

BOOST_AUTO_TEST_CASE(are_called_in_order) {
  net::io_context context;
  std::vector<int> seen;
  std::vector<std::shared_ptr<int_operation>> operations;
  for (int i = 0; i < 100; ++i)
    operations.push_back(waiting(context.get_executor(), [&](error_code, int value) { seen.push_back(value); }));
  for (int i = 0; i < 100; ++i) complete(*operations[static_cast<std::size_t>(i)], i);
  BOOST_TEST(seen.empty());
  BOOST_TEST(context.run() == 100u);
  for (int i = 0; i < 100; ++i) BOOST_TEST(seen.at(static_cast<std::size_t>(i)) == i);
}

BOOST_AUTO_TEST_CASE(run_beside_each_other_on_the_threads_of_a_context) {
  net::thread_pool context(2);
  std::promise<void> second_called;
  std::promise<bool> first_saw_it;
  auto first = waiting(context.get_executor(), [&, seen = second_called.get_future()](error_code, int) mutable {
    first_saw_it.set_value(seen.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
  });
  auto second = waiting(context.get_executor(), [&](error_code, int) { second_called.set_value(); });
  complete(*first);
  complete(*second);
  BOOST_TEST(first_saw_it.get_future().get());
  context.join();
}

BOOST_AUTO_TEST_CASE(go_on_after_one_that_throws) {
  net::io_context context;
  int called = 0;
  auto throws = waiting(context.get_executor(), [](error_code, int) { throw std::runtime_error("on purpose"); });
  auto next = waiting(context.get_executor(), [&](error_code, int) { ++called; });
  auto last = waiting(context.get_executor(), [&](error_code, int) { ++called; });
  for (const auto& pending : {throws, next, last}) complete(*pending);
  BOOST_CHECK_THROW(context.run(), std::runtime_error);
  context.run();
  BOOST_TEST(called == 2);
}

BOOST_AUTO_TEST_CASE(keep_to_their_own_executors) {
  net::io_context context;
  const auto strand = net::make_strand(context);
  int plain = 0, on_strand = 0;
  std::vector<std::shared_ptr<int_operation>> operations;
  for (int i = 0; i < 10; ++i) {
    operations.push_back(waiting(context.get_executor(), [&](error_code, int) { ++plain; }));
    operations.push_back(waiting(strand, [&](error_code, int) { on_strand += strand.running_in_this_thread(); }));
  }
  for (const auto& pending : operations) complete(*pending);
  context.run();
  BOOST_TEST(plain == 10);
  BOOST_TEST(on_strand == 10);
}

BOOST_AUTO_TEST_CASE(that_come_while_others_are_called_are_called_too) {
  net::io_context context;
  int called = 0;
  std::shared_ptr<int_operation> late = waiting(context.get_executor(), [&](error_code, int) { ++called; });
  auto first = waiting(context.get_executor(), [&](error_code, int) { complete(*late); });
  complete(*first);
  context.run();
  BOOST_TEST(called == 1);
}

BOOST_AUTO_TEST_CASE(are_forgotten_with_their_context) {
  auto held = std::make_shared<int>(0);
  std::vector<std::shared_ptr<int_operation>> operations;
  {
    net::io_context context;
    for (int i = 0; i < 3; ++i)
      operations.push_back(waiting(context.get_executor(), [held](error_code, int) { ++*held; }));
    for (const auto& pending : operations) complete(*pending);
  }
  BOOST_TEST(*held == 0);
  BOOST_TEST(held.use_count() == 1);
  for (const auto& each : operations) BOOST_TEST(each->dropped());
}

BOOST_AUTO_TEST_CASE(may_come_while_their_context_is_destroyed) {
  constexpr int rounds = 500;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> called = 0;
    auto held = std::make_shared<int>(0);
    auto context = std::make_unique<net::thread_pool>(1);
    std::vector<std::shared_ptr<int_operation>> operations;
    for (int i = 0; i < 8; ++i)
      operations.push_back(waiting(context->get_executor(), [&called, held](error_code, int) { ++called; }));
    std::atomic<bool> begun = false;
    std::thread posts([&] {
      begun = true;
      for (const auto& pending : operations) complete(*pending);
    });
    while (!begun) std::this_thread::yield();
    context.reset();
    const int previous = called;
    posts.join();
    BOOST_TEST(called == previous);
    BOOST_TEST(held.use_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(that_come_from_a_handler_are_called_after_it) {
  net::io_context context;
  std::vector<int> order;
  auto inner = waiting(context.get_executor(), [&](error_code, int) { order.push_back(2); });
  auto outer = waiting(context.get_executor(), [&](error_code, int) {
    complete(*inner);
    order.push_back(1);
  });
  complete(*outer);
  context.run();
  BOOST_TEST(order == (std::vector<int>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::detail
