// What the connections of all clients may have together, and how long they may take.
#include "http/connection.hpp"
#include "memory_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <utility>

namespace http = server::http;
namespace net = boost::asio;

namespace {

using server::test::client_side;
using server::test::memory_transport;
using namespace std::chrono_literals;

constexpr std::size_t kib = 1 << 10, small = http::counted_bytes::uncounted;

/// One of several clients.
struct visitor {
  explicit visitor(net::io_context& context) : client(std::make_shared<client_side>(context)) {
    client->reads_at_once = 1 << 20;
  }
  bool is_answered(std::string_view status = "200") const {
    return client->received.starts_with("HTTP/1.1 " + std::string(status));
  }

  std::shared_ptr<client_side> client;
  std::shared_ptr<http::connection> connection;
  bool over = false;
};

/// Clients whose bodies are answered by their lengths, GET /N by N bytes, and GET /events/N by an event of N bytes.
struct visited {
  net::io_context context;
  http::service service{
      .limits = {.header = 1024, .body = 1 << 20, .idle = 1h, .receive = 1h, .send = 1h, .read_ahead = 256},
      .handler = [this](http::exchange& call) { return answer(call); },
      .refuse = [](const http::parse_error& why) { return http::response{.status = why.status, .body = why.message}; },
      .bodies = std::make_shared<http::fair_budget>(400 * kib),
      .answers = std::make_shared<http::fair_budget>(400 * kib)};
  std::list<visitor> visitors = {};
  bool is_paused = false;  ///< whether answers wait until somebody resumes them
  bool are_deaf = false;   ///< whether clients read no more than the heads of events
  net::steady_timer resume{context, net::steady_timer::time_point::max()};

  visited() = default;
  visited(const visited&) = delete;
  visited& operator=(const visited&) = delete;
  ~visited() {
    for (auto& each : visitors) each.connection->close();
    context.restart();
    context.poll();
    for (auto& each : visitors) BOOST_TEST(each.over);
    BOOST_TEST(service.bodies->taken() == 0U);
    BOOST_TEST(service.answers->taken() == 0U);
  }

  net::awaitable<void> answer(http::exchange& call) {
    http::response whole;
    try {
      whole.body = std::to_string((co_await call.read_whole_body()).size());
    } catch (const http::body_error& why) {
      whole = service.refuse({why.status(), why.what()});
    }
    boost::system::error_code woken;
    if (is_paused) co_await resume.async_wait(net::redirect_error(net::use_awaitable, woken));
    const auto& path = call.request().path;
    const auto size = path.find_first_of("123456789");
    if (size != std::string::npos) whole.body.assign(std::stoul(path.substr(size)), 'a');
    if (!path.starts_with("/events")) co_return co_await call.respond(std::move(whole));
    co_await call.begin({});
    for (auto& each : visitors) each.client->reads = !are_deaf;
    co_await call.write(whole.body);
    co_await call.end();
  }

  visitor& connect(const std::string& network) {
    auto& guest = visitors.emplace_back(context);
    guest.connection = std::make_shared<http::connection>(std::make_unique<memory_transport>(guest.client),
                                                          context.get_executor(), service, network);
    net::co_spawn(context, guest.connection->run(), [&guest](std::exception_ptr) { guest.over = true; });
    context.poll();
    return guest;
  }

  /// A client that has sent so much.
  visitor& sends(const std::string& network, const std::string& bytes) {
    auto& guest = connect(network);
    guest.client->send(bytes);
    context.poll();
    return guest;
  }

  /// A client that has sent so many bytes of a body.
  visitor& posts(const std::string& network, std::size_t sent, std::size_t announced) {
    return sends(network, "POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(announced) +
                              "\r\n\r\n" + std::string(sent, 'x'));
  }
  visitor& posts(const std::string& network, std::size_t length) { return posts(network, length, length); }

  /// A client that asks for a path and does not read the answer.
  visitor& asks_deaf(const std::string& network, const std::string& path) {
    auto& guest = connect(network);
    are_deaf = true;
    guest.client->reads = path.starts_with("/events");
    guest.client->send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    context.poll();
    return guest;
  }

  /// Until the connection has ended.
  bool run_to_the_end_of(const visitor& guest) {
    context.restart();
    while (!guest.over && context.run_one_for(60s) > 0) {
    }
    return guest.over;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(connection_budgets)

BOOST_AUTO_TEST_CASE(large_bodies_wait_for_room_and_small_ones_need_none) {
  visited site;
  auto& first = site.posts("a", 10, small + 250 * kib);
  auto& second = site.posts("b", small + 200 * kib);
  BOOST_TEST(!second.is_answered());
  BOOST_TEST(second.client->sent.size() > 190 * kib);  // it is not even read
  BOOST_TEST(site.posts("b", small).is_answered());
  BOOST_TEST(site.posts("c", small + 150 * kib).is_answered());
  BOOST_TEST(site.posts("a", small + 1).client->received == "");  // it has more than it leaves
  first.client->leave();
  site.context.poll();
  BOOST_TEST(second.is_answered());
}

BOOST_AUTO_TEST_CASE(a_body_counts_until_its_answer_begins) {
  visited site;
  site.is_paused = true;
  auto& first = site.posts("a", small + 300 * kib);
  BOOST_TEST(site.service.bodies->taken() == 300 * kib);
  auto& second = site.posts("b", small + 300 * kib);
  BOOST_TEST(second.client->sent.size() > 300 * kib);
  first.client->reads = false;  // the answer begins, though nobody takes it
  site.resume.cancel();
  site.context.poll();
  BOOST_TEST(!first.is_answered());
  BOOST_TEST(second.client->sent.size() == 0U);
  site.resume.cancel();
  site.context.poll();
  BOOST_TEST(second.is_answered());
}

BOOST_AUTO_TEST_CASE(a_body_without_a_length_is_refused_where_there_is_no_room) {
  visited site;
  site.posts("a", 10, small + 250 * kib);
  auto& chunked = site.sends("b", "POST /body HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n40000\r\n" +
                                      std::string(0x40000, 'x') + "\r\n");
  BOOST_TEST(chunked.is_answered("503"));
  BOOST_TEST(
      chunked.client->received.ends_with("the bodies of all requests may have 409600 bytes together, and there is "
                                         "no room for another"));
}

BOOST_AUTO_TEST_CASE(nobody_waits_for_room_longer_than_to_receive) {
  visited site;
  site.posts("a", 10, small + 250 * kib);
  site.service.limits.receive = 1ms;
  auto& late = site.posts("b", small + 200 * kib);
  site.run_to_the_end_of(late);
  BOOST_TEST(late.is_answered("503"));
}

BOOST_AUTO_TEST_CASE(who_leaves_while_it_waits_for_room_is_gone) {
  visited site;
  site.posts("a", 10, small + 250 * kib);
  auto& leaving = site.posts("b", small + 200 * kib);
  BOOST_TEST(!leaving.over);
  leaving.client->leave();
  site.context.poll();
  BOOST_TEST(leaving.over);
  BOOST_TEST(leaving.client->received == "");
}

BOOST_AUTO_TEST_CASE(answers_that_are_not_read_are_bounded) {
  for (const std::string path : {"/", "/events/"}) {
    visited site;
    const auto ask = [&](const std::string& network, std::size_t size) -> visitor& {
      return site.asks_deaf(network, path + std::to_string(size));
    };
    ask("a", small + 200 * kib);
    BOOST_TEST(site.service.answers->taken() == 200 * kib);
    auto& second = ask("a", small + 1);
    auto& other = ask("b", small + 100 * kib);
    auto& little = ask("a", small);
    BOOST_TEST(site.service.answers->taken() == 300 * kib);
    for (auto* guest : {&second, &other, &little}) guest->client->read_again();
    site.context.poll();
    BOOST_TEST(other.client->received.size() > small + 100 * kib);
    BOOST_TEST(little.is_answered());
    BOOST_TEST(second.client->received.size() < 500U);
    const bool is_whole = path == "/";
    BOOST_TEST(second.is_answered(is_whole ? "503" : "200"));
    if (!is_whole) BOOST_TEST(second.over);
    if (is_whole)
      BOOST_TEST(
          second.client->received.ends_with("the answers that clients have not read may have 409600 bytes "
                                            "together, and there is no room for another"));
  }
}

BOOST_AUTO_TEST_CASE(a_connection_ends_where_a_client_takes_too_long) {
  using limit = std::chrono::milliseconds http::connection_limits::*;
  const std::string get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string half = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf";
  struct slow_client {
    limit exceeded;
    std::string sent;
    bool reads;
  };
  for (const auto& [exceeded, sent, reads] :
       {slow_client{&http::connection_limits::idle, "", true}, slow_client{&http::connection_limits::idle, get, true},
        slow_client{&http::connection_limits::receive, "GET /", true},
        slow_client{&http::connection_limits::receive, get + "G", true},
        slow_client{&http::connection_limits::receive, half, true},
        slow_client{&http::connection_limits::receive, get + half, true},
        slow_client{&http::connection_limits::send, get, false}}) {
    visited site;
    site.service.limits.*exceeded = 1ms;
    auto& guest = site.connect("a");
    guest.client->reads = reads;
    guest.client->send(sent);
    BOOST_TEST(site.run_to_the_end_of(guest), sent);
  }
}

BOOST_AUTO_TEST_SUITE_END()
