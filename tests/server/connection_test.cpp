#include "http/connection.hpp"

#include "http/event_stream.hpp"
#include "memory_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>

namespace http = server::http;
namespace net = boost::asio;

namespace {

using server::test::client_side;
using server::test::memory_transport;

/// A connection whose requests are answered by their paths: /long never, /events in parts, /upload by its body, of
/// which it reads three bytes at a time, /refused before it reads any, others by their whole body.
struct served {
  net::io_context context;
  std::shared_ptr<client_side> client = std::make_shared<client_side>(context);
  int begun = 0, cancelled = 0;
  bool over = false;
  http::service service{
      .limits = {.header = 1024, .body = 64, .read_ahead = 256},
      .handler = [this](http::exchange& call) { return answer(call); },
      .refuse = [](const http::parse_error& why) { return http::response{.status = why.status, .body = why.message}; }};
  std::shared_ptr<http::connection> connection;

  served() {
    connection = std::make_shared<http::connection>(std::make_unique<memory_transport>(client), context.get_executor(),
                                                    service, "network");
    net::co_spawn(context, connection->run(), [this](std::exception_ptr) { over = true; });
  }

  ~served() {
    connection->close();
    context.poll();
    BOOST_TEST(over);
  }

  net::awaitable<void> answer(http::exchange& call) {
    ++begun;
    call.add_header("X-Number", std::to_string(begun));
    if (call.request().path == "/long") {
      boost::system::error_code ended;
      net::steady_timer forever(context, net::steady_timer::time_point::max());
      co_await forever.async_wait(net::redirect_error(net::use_awaitable, ended));
      ++cancelled;
    } else if (call.request().path == "/upload") {
      char part[3];
      std::string body;
      while (const auto count = co_await call.read_body(net::buffer(part))) body.append(part, count);
      http::response whole{.body = "<" + body + ">"};
      co_await call.respond(std::move(whole));
    } else if (call.request().path == "/events") {
      http::event_stream events(call);
      co_await events.send("1");
      co_await events.ping();
      co_await events.send("2", "named");
      co_await events.end();
    } else {
      co_await echo(call);
    }
  }

  /// Answers with the path and the whole body, or with why there is none.
  net::awaitable<void> echo(http::exchange& call) {
    http::response whole{.body = call.request().path};
    if (call.request().path != "/refused") {
      try {
        const auto body = co_await call.read_whole_body();
        whole.body += body;
      } catch (const http::body_error& why) {
        whole = service.refuse({why.status(), why.what()});
      }
    }
    co_await call.respond(std::move(whole));
  }

  const std::string& after(std::string_view bytes) {
    client->send(bytes);
    context.poll();
    return client->received;
  }
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto position = text.find(part); position != std::string_view::npos; position = text.find(part, position + 1))
    ++count;
  return count;
}

const std::string get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(http_connections)

BOOST_AUTO_TEST_CASE(requests_are_answered_in_order_however_they_are_cut) {
  for (std::size_t part = 1; part < 60; ++part) {
    served host;
    host.client->reads_at_once = part;
    const auto& answers = host.after(get + "POST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" + get);
    BOOST_TEST(count_of(answers, "HTTP/1.1 200 OK\r\n") == 3U);
    BOOST_TEST(count_of(answers, "X-Number: 2\r\n") == 1U);
    BOOST_TEST(answers.find("/yabc") < answers.rfind("/x"));
  }
}

BOOST_AUTO_TEST_CASE(a_body_is_streamed_however_it_is_cut) {
  const std::string text(100, 'a');  // more than other requests may have
  const auto sized = "POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n" + text;
  const std::string chunked =
      "PUT /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (std::size_t part = 1; part < 60; ++part) {
    served host;
    host.client->reads_at_once = part;
    const auto& answers = host.after(sized + get + chunked + get);
    BOOST_TEST(count_of(answers, "HTTP/1.1 200 OK\r\n") == 4U);
    BOOST_TEST(count_of(answers, "Connection: close") == 0U);
    BOOST_TEST(answers.find("<" + text + ">") < answers.find("/x"));
    BOOST_TEST(answers.find("/x") < answers.find("<abcde>"));
    BOOST_TEST(answers.find("<abcde>") < answers.rfind("/x"));
    BOOST_TEST(!host.over);
  }
}

BOOST_AUTO_TEST_CASE(a_body_that_is_streamed_is_asked_for_when_it_is_read) {
  served host;
  const std::string head = "PUT /upload HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  BOOST_TEST(host.after(head) == "HTTP/1.1 100 Continue\r\n\r\n");
  BOOST_TEST(host.begun == 1);
  BOOST_TEST(host.after("ab").ends_with("Continue\r\n\r\n"));
  BOOST_TEST(host.after("cd").ends_with("<abcd>"));
  BOOST_TEST(host.after(get).ends_with("/x"));
}

BOOST_AUTO_TEST_CASE(an_answer_before_the_body_was_read_is_the_last_one) {
  served host;
  const auto& answer =
      host.after("PUT /refused HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  BOOST_TEST(answer.starts_with("HTTP/1.1 200 OK\r\n"));
  BOOST_TEST(count_of(answer, "Connection: close\r\n") == 1U);
  BOOST_TEST(count_of(host.after("abcd" + get), "HTTP/1.1 200 OK\r\n") == 1U);
}

BOOST_AUTO_TEST_CASE(a_body_that_breaks_off_or_is_malformed_ends_there) {
  for (const bool leaves : {false, true}) {
    served host;
    host.after("PUT /upload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    if (leaves) host.client->leave();
    const auto& answer = host.after(leaves ? "" : "what?\r\n");
    BOOST_TEST(count_of(answer, "Connection: close\r\n") == 1U);
    BOOST_TEST(answer.ends_with("<abc>"));
  }
}

BOOST_AUTO_TEST_CASE(a_head_has_no_body_even_if_its_answer_comes_in_parts) {
  served host;
  const auto& answer = host.after("HEAD /events HTTP/1.1\r\nHost: h\r\n\r\n");
  BOOST_TEST(answer.ends_with("Transfer-Encoding: chunked\r\n\r\n"));
  BOOST_TEST(host.after(get).ends_with("/x"));
}

BOOST_AUTO_TEST_CASE(events_are_chunks) {
  served host;
  const auto answer = host.after("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  BOOST_TEST(answer.find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  BOOST_TEST(
      answer.ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n8\r\n: ping\n\n\r\n16\r\nevent: named\ndata: 2\n\n\r\n0\r\n\r\n"));
  BOOST_TEST(host.after(get).ends_with("/x"));
}

BOOST_AUTO_TEST_CASE(old_clients_get_events_up_to_the_end) {
  served host;
  const auto answer = host.after("GET /events HTTP/1.0\r\n\r\n");
  BOOST_TEST(answer.ends_with("\r\n\r\ndata: 1\n\n: ping\n\nevent: named\ndata: 2\n\n"));
  BOOST_TEST(answer.find("chunked") == std::string::npos);
  host.client->leave();
  host.context.poll();
  BOOST_TEST(host.over);
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_cancels_its_answer) {
  served host;
  host.after("GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
  BOOST_TEST(host.begun == 1);
  BOOST_TEST(host.cancelled == 0);
  host.client->leave();
  host.context.poll();
  BOOST_TEST(host.cancelled == 1);
  BOOST_TEST(host.over);
}

BOOST_AUTO_TEST_CASE(a_client_that_leaves_after_another_request_is_noticed) {
  served host;
  host.after("GET /long HTTP/1.1\r\nHost: h\r\n\r\n" + get);
  BOOST_TEST(host.cancelled == 0);
  host.client->leave();
  host.context.poll();
  BOOST_TEST(host.cancelled == 1);
  BOOST_TEST(host.begun == 1);
}

BOOST_AUTO_TEST_CASE(no_more_is_read_ahead_than_allowed) {
  served host;
  host.client->reads_at_once = 64;
  const std::string ahead(2 * host.service.limits.read_ahead, 'x');
  host.after("GET /long HTTP/1.1\r\nHost: h\r\n\r\n" + ahead);
  BOOST_TEST(host.client->sent.size() > ahead.size() - host.service.limits.read_ahead - 64);
  host.client->leave();
  host.context.poll();
  BOOST_TEST(host.cancelled == 1);
  BOOST_TEST(host.over);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_and_ends_the_connection) {
  served host;
  const auto answer = host.after("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 65\r\n\r\n" + get);
  BOOST_TEST(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"));
  BOOST_TEST(answer.find("Connection: close\r\n") != std::string::npos);
  BOOST_TEST(host.begun == 1);
  served other;
  BOOST_TEST(other.after("POST /x HTTP/1.1\r\n\r\n" + get).starts_with("HTTP/1.1 400 Bad Request\r\n"));
  BOOST_TEST(count_of(other.client->received, "HTTP/1.1 4") == 1U);
  BOOST_TEST(other.begun == 0);
}

BOOST_AUTO_TEST_CASE(a_body_that_is_too_long_is_refused_as_it_comes) {
  served host;
  const std::string chunk = "20\r\n" + std::string(32, 'a') + "\r\n";
  const auto& answer = host.after("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk);
  BOOST_TEST(answer.empty());
  BOOST_TEST(host.after("1\r\n").empty());
  BOOST_TEST(host.after("a\r\n").starts_with("HTTP/1.1 413 Payload Too Large\r\n"));
  BOOST_TEST(answer.find("Connection: close\r\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_malformed_body_is_refused_where_it_is_read) {
  served host;
  const auto& answer = host.after("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  BOOST_TEST(answer.empty());
  BOOST_TEST(host.after("g\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
  BOOST_TEST(answer.find("Connection: close\r\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_may_wait_for_leave_to_send) {
  served host;
  BOOST_TEST(host.after("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n") ==
             "HTTP/1.1 100 Continue\r\n\r\n");
  BOOST_TEST(host.after("hi").ends_with("/xhi"));
}

BOOST_AUTO_TEST_CASE(half_a_request_is_no_request) {
  served host;
  host.after("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nh");
  host.client->leave();
  host.context.poll();
  BOOST_TEST(host.client->received == "");
  BOOST_TEST(host.over);
}

BOOST_AUTO_TEST_CASE(finishing_waits_for_the_answer_that_has_begun) {
  served idle;
  idle.after(get);
  idle.connection->finish();
  idle.context.poll();
  BOOST_TEST(!idle.over);
  BOOST_TEST(!idle.connection->is_awaited());
  BOOST_TEST(idle.after(get).find("Connection: close\r\n") != std::string::npos);
  BOOST_TEST(!idle.connection->is_awaited());
  served fresh;
  fresh.connection->finish();
  BOOST_TEST(fresh.after(get).find("Connection: close\r\n") != std::string::npos);
  served busy;
  busy.after("GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
  busy.connection->finish();
  busy.context.poll();
  BOOST_TEST(!busy.over);
  BOOST_TEST(busy.connection->is_awaited());
}

BOOST_AUTO_TEST_SUITE_END()
