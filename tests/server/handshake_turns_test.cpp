#include "http/handshake_turns.hpp"

#include "http/closed_peer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace http = server::http;
namespace net = boost::asio;

namespace {

using net::ip::tcp;

/// A connection over the loopback, whose client has sent something.
struct connecting_client {
  tcp::socket sender, receiver;
  http::handshake_turn turn;
  bool over = false;

  connecting_client(net::io_context& context, tcp::acceptor& acceptor, std::shared_ptr<http::handshake_turns> turns,
                    const std::string& network)
      : sender(context), receiver(context), turn(std::move(turns), receiver, network) {
    sender.connect(acceptor.local_endpoint());
    acceptor.accept(receiver);
    net::write(sender, net::buffer("x", 1));
    while (receiver.available() == 0) std::this_thread::yield();
  }

  void close() {
    sender.close();
    while (!http::peer_has_closed(receiver)) std::this_thread::yield();
  }
};

/// Clients that wait for their turns, and the order in which these came: a network's letter for each, with a dash
/// before it where the client had left, and a space for each pass of the event loop in which there was one.
struct connecting_clients {
  net::io_context context;
  tcp::acceptor acceptor{context, {net::ip::address_v4::loopback(), 0}};
  std::shared_ptr<http::handshake_turns> turns = std::make_shared<http::handshake_turns>();
  std::vector<std::shared_ptr<connecting_client>> clients;
  std::string order;

  connecting_client& add(const std::string& network) {
    return *clients.emplace_back(std::make_shared<connecting_client>(context, acceptor, turns, network));
  }

  void wait(const std::shared_ptr<connecting_client>& client, const std::string& name) {
    net::co_spawn(context, client->turn.async_wait(), [this, client, name](const std::exception_ptr& failed) {
      client->over = true;
      order += failed ? "-" + name : name;
    });
  }

  void wait(std::string_view networks) {
    for (const char name : networks) {
      add({name});
      wait(clients.back(), {name});
    }
  }

  bool are_over() const {
    return std::ranges::all_of(clients, [](const auto& client) { return client->over; });
  }

  const std::string& run() {
    note_pass();
    while (!are_over()) context.run_one();
    return order;
  }

  const std::string& run_without_passes() {
    while (!are_over()) context.run_one();
    return order;
  }

  void run_until_first() {
    while (order.empty()) context.run_one();
  }

  /// Behind all that is ready, like a client's request: nothing is posted while no turn has come.
  void note_pass() {
    if (are_over()) return;
    if (!order.empty() && order.back() != ' ') order += ' ';
    net::post(context, [this] { note_pass(); });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(handshakes_in_turns)

BOOST_AUTO_TEST_CASE(one_goes_on_in_a_pass) {
  connecting_clients crowd;
  crowd.wait("aaaa");
  BOOST_TEST(crowd.run() == "a a a a");
}

BOOST_AUTO_TEST_CASE(networks_take_turns) {
  connecting_clients crowd;
  crowd.wait("aaaaabbc");
  BOOST_TEST(crowd.run_without_passes() == "abcabaaa");
}

BOOST_AUTO_TEST_CASE(the_connection_that_came_first_goes_first) {
  connecting_clients crowd;
  for (int i = 0; i < 3; ++i) crowd.add("a");
  crowd.wait(crowd.clients[2], "3");
  crowd.wait(crowd.clients[1], "2");
  crowd.wait(crowd.clients[0], "1");
  BOOST_TEST(crowd.run_without_passes() == "123");
}

BOOST_AUTO_TEST_CASE(a_client_that_has_sent_nothing_keeps_nobody_waiting) {
  connecting_clients crowd;
  auto& silent = crowd.add("a");
  char read = 0;
  silent.receiver.read_some(net::buffer(&read, 1));
  crowd.wait(crowd.clients.front(), "s");
  crowd.wait("aa");
  while (crowd.order.size() < 2) crowd.context.run_one();
  BOOST_TEST(crowd.order == "aa");
  net::write(silent.sender, net::buffer("x", 1));
  BOOST_TEST(crowd.run_without_passes() == "aas");
}

BOOST_AUTO_TEST_CASE(clients_that_have_left_take_no_turn) {
  connecting_clients crowd;
  crowd.wait("aaaaa");
  for (int i = 0; i < 4; ++i) crowd.clients[i]->close();
  BOOST_TEST(crowd.run() == "-a-a-a-aa");
}

BOOST_AUTO_TEST_CASE(few_that_have_left_end_in_a_pass) {
  connecting_clients crowd;
  crowd.wait(std::string(http::handshake_turns::max_ended + 1, 'a'));
  for (const auto& client : crowd.clients) client->close();
  const auto order = crowd.run();
  BOOST_TEST(order.find(' ') == 2U * http::handshake_turns::max_ended);
  BOOST_TEST(order.ends_with(" -a"));
}

BOOST_AUTO_TEST_CASE(a_client_that_was_answered_may_have_closed_its_side) {
  connecting_clients crowd;
  crowd.wait("a");
  crowd.clients.front()->turn.note_answer();
  crowd.clients.front()->close();
  BOOST_TEST(crowd.run() == "a");
}

BOOST_AUTO_TEST_CASE(a_turn_that_is_cancelled_leaves_the_queue) {
  connecting_clients crowd;
  crowd.wait("aaaaaaaaz");
  crowd.run_until_first();
  auto& last = *crowd.clients[7];
  last.receiver.close();
  last.turn.cancel();
  const auto order = crowd.run_without_passes();
  BOOST_TEST(std::ranges::count(order, 'a') == 8);
  BOOST_TEST(std::ranges::count(order, '-') == 1);
  BOOST_TEST(order.ends_with("aaa"));
}

BOOST_AUTO_TEST_CASE(a_turn_may_end_with_its_context) {
  const auto turns = std::make_shared<http::handshake_turns>();
  {
    connecting_clients crowd;
    crowd.turns = turns;
    crowd.wait("aaaaaaaa");
    crowd.run_until_first();
  }
  BOOST_TEST(turns.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
