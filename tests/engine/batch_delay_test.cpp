// Strict loops on another thread share their steps: a step waits a moment for those who were served by the last one.
#include "toy_runner.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <future>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(max_batch_delay)

net::awaitable<void> loop(engine& running, token first, int decodes) {
  auto sequence = running.open();
  co_await sequence.async_forward({first});
  for (int i = 0; i < decodes; ++i) co_await sequence.async_decode();
}

/// Waits until the handlers given to `executor` so far have run.
template <class Executor>
void let_run(Executor& executor) {
  net::post(executor, net::use_future([] {})).get();
}

/// Keeps the engine's thread busy until everything that `begin` starts has been asked for.
template <class Begin>
void while_the_engine_is_held(engine& running, Begin begin) {
  std::promise<void> go;
  const auto held = std::make_shared<std::promise<void>>();
  net::post(running.get_executor(), [held, released = go.get_future().share()] {
    held->set_value();
    released.wait();
  });
  held->get_future().wait();
  begin();
  go.set_value();
}

BOOST_AUTO_TEST_CASE(a_step_waits_for_clients_about_to_continue_and_not_for_those_that_left) {
  toy_engine toy({}, {.batching = {.max_batch_delay = 1h}});
  net::thread_pool other(1);
  std::vector<std::future<void>> loops;
  while_the_engine_is_held(toy.running, [&] {
    for (int i = 0; i < 4; ++i) loops.push_back(net::co_spawn(other, loop(toy.running, i, 3 * i), net::use_future));
    let_run(other);
  });
  for (auto& each : loops) each.get();
  other.join();
  BOOST_TEST(toy.control->batches == (std::vector<int>{4, 3, 3, 3, 2, 2, 2, 1, 1, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_who_thinks_for_long_is_not_waited_for) {
  toy_engine toy({}, {.batching = {.max_batch_delay = 200us}});
  net::thread_pool thinker(1), rest(1);
  std::promise<void> others_are_done;
  auto slow = net::co_spawn(
      thinker,
      [&]() -> net::awaitable<void> {
        auto sequence = toy.running.open();
        co_await sequence.async_forward({9});
        others_are_done.get_future().wait();
        co_await sequence.async_decode();
      },
      net::use_future);
  net::co_spawn(rest, loop(toy.running, 1, 20), net::use_future).get();
  others_are_done.set_value();
  slow.get();
  thinker.join();
  rest.join();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
