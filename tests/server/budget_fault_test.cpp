#include "../engine/failing_memory.hpp"
#include "http/fair_budget.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <new>
#include <string>

namespace net = boost::asio;
namespace failing_memory = cogen::test::failing_memory;

using server::http::budget_share;
using server::http::fair_budget;

namespace {

const std::string first_client(64, 'a'), second_client(128, 'b');  // longer than strings hold without memory

}  // namespace

BOOST_AUTO_TEST_SUITE(budget_faults)

BOOST_AUTO_TEST_CASE(what_is_given_back_reaches_who_waits_also_without_memory) {
  const auto budget = std::make_shared<fair_budget>(10);
  budget_share first(budget, first_client), second(budget, second_client);
  BOOST_REQUIRE(first.take(10));
  net::io_context context;
  bool has_it = false;
  net::co_spawn(
      context, [&]() -> net::awaitable<void> { has_it = co_await second.async_take(10); }, net::detached);
  context.poll();
  failing_memory::refuse(0);
  first = {};
  const bool was_refused = failing_memory::relent();
  context.restart();
  context.poll();
  BOOST_TEST(!was_refused);
  BOOST_TEST(has_it);
  BOOST_TEST(budget->taken() == 10U);
}

BOOST_AUTO_TEST_CASE(who_gets_no_memory_has_nothing) {
  const auto budget = std::make_shared<fair_budget>(10);
  budget_share share(budget, first_client);
  for (long n = 0;; ++n) {
    BOOST_TEST_CONTEXT("allocation " << n) {
      failing_memory::refuse(n);
      bool may = false;
      try {
        may = share.take(10);
      } catch (const std::bad_alloc&) {
      }
      const bool was_refused = failing_memory::relent();
      BOOST_TEST(may == !was_refused);
      BOOST_TEST(budget->taken() == (may ? 10U : 0U));
      if (!was_refused) break;
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
