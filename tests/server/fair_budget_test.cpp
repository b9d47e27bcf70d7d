#include "http/fair_budget.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace net = boost::asio;

using server::http::budget_share;
using server::http::counted_bytes;
using server::http::fair_budget;

namespace {

/// Clients that wait for amounts, and the order in which they got them.
struct waiting_clients {
  std::shared_ptr<fair_budget> budget;
  net::io_context context;
  std::list<budget_share> shares;
  std::string order = {};
  std::vector<budget_share*> served = {};

  explicit waiting_clients(std::uint64_t limit) : budget(std::make_shared<fair_budget>(limit)) {}

  /// The client's first letter stands in the order; a small one where it got nothing.
  void ask(const std::string& name, std::uint64_t amount, net::cancellation_slot slot = {},
           budget_share::time_point deadline = budget_share::time_point::max()) {
    auto& share = shares.emplace_back(budget, name);
    net::co_spawn(
        context,
        [this, &share, name, amount, deadline]() -> net::awaitable<void> {
          const bool has_it = co_await share.async_take(amount, deadline);
          order += has_it ? name : "-" + name;
          if (has_it) served.push_back(&share);
        },
        net::bind_cancellation_slot(slot, [this, name](const std::exception_ptr& why) {
          if (why) order += "!" + name;
        }));
    run();
  }

  const std::string& end(budget_share& share) {
    share = {};
    run();
    return order;
  }

  void run() {
    context.restart();
    context.poll();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(fair_budgets)

BOOST_AUTO_TEST_CASE(what_is_counted_is_given_back) {
  const auto budget = std::make_shared<fair_budget>(100);
  const auto free = counted_bytes::uncounted;
  {
    counted_bytes counted(budget, "a"), other(budget, "b");
    BOOST_TEST(counted.grow_to(free));
    BOOST_TEST(budget->taken() == 0U);
    BOOST_TEST(counted.grow_to(free + 40));
    BOOST_TEST(counted.grow_to(free + 30));
    BOOST_TEST(budget->taken() == 40U);
    BOOST_TEST(!other.grow_to(free + 61));
    BOOST_TEST(other.grow_to(free + 60));
    BOOST_TEST(!counted.grow_to(free + 41));
    counted = std::move(other);
    BOOST_TEST(budget->taken() == 60U);
    BOOST_TEST(!counted.grow_to(~std::uint64_t{0}));
    BOOST_TEST(counted_bytes().grow_to(~std::uint64_t{0}));
  }
  BOOST_TEST(budget->taken() == 0U);
}

BOOST_AUTO_TEST_CASE(a_client_leaves_as_much_as_it_takes) {
  const auto budget = std::make_shared<fair_budget>(1200);
  std::list<budget_share> shares;
  const auto max_of = [&](const std::string& client) {
    std::uint64_t count = 0;
    while (shares.emplace_back(budget, client).take(1)) ++count;
    return count;
  };
  BOOST_TEST(max_of("a") == 600U);
  BOOST_TEST(max_of("b") == 300U);
  BOOST_TEST(max_of("a") == 0U);
  BOOST_TEST(max_of("c") == 150U);
  BOOST_TEST(budget_share(budget, "d").take(150));
  shares.clear();
  BOOST_TEST(budget_share(budget, "a").take(1200));
  BOOST_TEST(!budget_share(budget, "a").take(1201));
  BOOST_TEST(budget->taken() == 0U);
}

BOOST_AUTO_TEST_CASE(clients_that_wait_take_turns) {
  waiting_clients queue(1);
  for (const auto* name : {"A", "A", "A", "A", "B", "C", "C"}) queue.ask(name, 1);
  BOOST_TEST(queue.order == "A");
  for (std::size_t i = 0; i < queue.served.size(); ++i) queue.end(*queue.served[i]);
  BOOST_TEST(queue.order == "ABCACAA");
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_much_keeps_no_other_client_out) {
  waiting_clients queue(100);
  queue.ask("A", 40);
  queue.ask("B", 70);
  queue.ask("B", 1);  // behind its own
  queue.ask("C", 20);
  BOOST_TEST(queue.order == "AC");
  BOOST_TEST(queue.end(queue.shares.front()) == "ACB");
  BOOST_TEST(queue.end(*std::next(queue.shares.begin())) == "ACBB");
}

BOOST_AUTO_TEST_CASE(one_that_leaves_makes_room_for_those_behind_it) {
  waiting_clients queue(100);
  net::cancellation_signal leaves;
  queue.ask("A", 60);
  queue.ask("B", 80, leaves.slot());
  queue.ask("B", 40);
  BOOST_TEST(queue.order == "A");
  leaves.emit(net::cancellation_type::terminal);
  queue.run();
  BOOST_TEST(queue.order == "A!BB");
  queue.ask("C", 50, {}, std::chrono::steady_clock::now());
  queue.context.restart();
  queue.context.run();
  BOOST_TEST(queue.order == "A!BB-C");
  BOOST_TEST(queue.budget->taken() == 100U);
}

BOOST_AUTO_TEST_CASE(who_waits_may_end_with_the_context) {
  const auto budget = std::make_shared<fair_budget>(10);
  {
    net::io_context context;
    budget_share has(budget, "a");
    BOOST_TEST(has.take(10));
    for (const auto* name : {"a", "b", "b"})
      net::co_spawn(
          context,
          [](std::shared_ptr<fair_budget> shared, std::string client) -> net::awaitable<void> {
            budget_share share(std::move(shared), std::move(client));
            BOOST_TEST(!co_await share.async_take(10));
          }(budget, name),
          [](std::exception_ptr) {});
    context.poll();
  }
  BOOST_TEST(budget->taken() == 0U);
}

BOOST_AUTO_TEST_CASE(what_shrinks_leaves_room_for_others) {
  const auto budget = std::make_shared<fair_budget>(1000);
  counted_bytes counted(budget, "a");
  BOOST_TEST(counted.grow_to(counted_bytes::uncounted + 400));
  counted.shrink_to(counted_bytes::uncounted + 500);
  BOOST_TEST(budget->taken() == 400u);
  counted.shrink_to(counted_bytes::uncounted + 100);
  BOOST_TEST(budget->taken() == 100u);
  BOOST_TEST(counted.grow_to(counted_bytes::uncounted + 300));
  BOOST_TEST(budget->taken() == 300u);
  counted.shrink_to(5);
  BOOST_TEST(budget->taken() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
