#include "session_transfers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <list>
#include <optional>
#include <vector>

namespace net = boost::asio;

namespace {

using server::session_transfers;

/// A client that wants to transfer a session.
struct client {
  std::optional<session_transfers::place> place = {};
  bool over = false;
  net::cancellation_signal leave = {};
};

struct clients {
  explicit clients(int of_tenant = session_transfers::max_of_tenant) : transfers(context.get_executor(), of_tenant) {}

  net::io_context context;
  session_transfers transfers;
  std::list<client> guests;

  client& add(std::uint64_t tenant) {
    auto& guest = guests.emplace_back();
    net::co_spawn(
        context,
        [](session_transfers& shared, std::uint64_t whose, client& target) -> net::awaitable<void> {
          target.place.emplace(co_await shared.async_begin(whose));
        }(transfers, tenant, guest),
        net::bind_cancellation_slot(guest.leave.slot(), [&guest](const std::exception_ptr&) { guest.over = true; }));
    handle();
    return guest;
  }

  void handle() {
    context.restart();
    context.poll();
  }

  void end(client& guest) {
    guest.place.reset();
    handle();
  }

  /// Which of them have begun.
  std::vector<bool> begun() const {
    std::vector<bool> result;
    for (const auto& each : guests) result.push_back(each.place.has_value());
    return result;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(transfers_of_sessions)

BOOST_AUTO_TEST_CASE(a_tenant_has_two_at_once_and_the_others_begin_in_their_order) {
  clients some;
  auto& first = some.add(1);
  for (int i = 0; i < 3; ++i) some.add(1);
  BOOST_TEST((some.begun() == std::vector<bool>{true, true, false, false}));
  some.end(first);
  BOOST_TEST((some.begun() == std::vector<bool>{false, true, true, false}));
  some.end(*std::next(some.guests.begin()));
  BOOST_TEST((some.begun() == std::vector<bool>{false, false, true, true}));
}

BOOST_AUTO_TEST_CASE(all_have_four_at_once_and_the_first_of_a_tenant_waits_for_no_other) {
  clients some;
  for (const std::uint64_t tenant : {1, 1, 2, 2, 3, 3}) some.add(tenant);
  BOOST_TEST((some.begun() == std::vector<bool>{true, true, true, true, true, false}));
  some.end(some.guests.front());
  BOOST_TEST(!some.guests.back().place.has_value());  // four are left
  some.end(*std::next(some.guests.begin()));
  BOOST_TEST(some.guests.back().place.has_value());
}

BOOST_AUTO_TEST_CASE(a_tenant_may_have_one_at_once) {
  clients some(1);
  for (const std::uint64_t tenant : {1, 1, 2, 2}) some.add(tenant);
  BOOST_TEST((some.begun() == std::vector<bool>{true, false, true, false}));
  some.end(some.guests.front());
  BOOST_TEST((some.begun() == std::vector<bool>{false, true, true, false}));
}

BOOST_AUTO_TEST_CASE(one_that_leaves_is_waited_for_no_more) {
  clients some;
  for (int i = 0; i < 4; ++i) some.add(1);
  auto& leaving = *std::next(some.guests.begin(), 2);
  leaving.leave.emit(net::cancellation_type::terminal);
  some.handle();
  BOOST_TEST(leaving.over);
  BOOST_TEST(!leaving.place.has_value());
  some.end(some.guests.front());
  BOOST_TEST((some.begun() == std::vector<bool>{false, true, false, true}));
}

BOOST_AUTO_TEST_SUITE_END()
