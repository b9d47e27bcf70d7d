#include "http/request_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using server::http::request_parser;

BOOST_AUTO_TEST_SUITE(http_requests)

namespace {

const std::string two_requests =
    "POST /a%20b/c?x=1&y=%C3%A4+b HTTP/1.1\r\nHost: h\r\nX-Priority: 3\r\nContent-Length: 5\r\n\r\nhello"
    "POST /chunks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";

/// What a parser makes of bytes that arrive in parts of so many.
struct parsed {
  std::vector<server::http::request> requests;
  std::optional<server::http::parse_error> error;
};

parsed parse_in_parts(std::string_view bytes, std::size_t part, const server::http::request_limits& limits = {}) {
  parsed result;
  std::string received;
  request_parser parser(limits);
  for (std::size_t at = 0; at < bytes.size(); at += part) {
    received += bytes.substr(at, part);
    for (;;) {
      received.erase(0, parser.put(received));
      if ((result.error = parser.error())) return result;
      if (!parser.is_done()) break;
      result.requests.push_back(parser.release());
      if ((result.error = parser.error())) return result;
      parser = request_parser(limits);
      if (received.empty()) break;
    }
  }
  return result;
}

int refusal_of(std::string_view bytes, const server::http::request_limits& limits = {}) {
  const auto found = parse_in_parts(bytes, bytes.size(), limits);
  return found.error ? found.error->status : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_cut_makes_no_difference) {
  for (std::size_t part = 1; part <= two_requests.size(); ++part) {
    const auto found = parse_in_parts(two_requests, part);
    BOOST_TEST_REQUIRE(found.requests.size() == 2U);
    const auto& first = found.requests[0];
    BOOST_TEST(first.method == "POST");
    BOOST_TEST(first.path == "/a b/c");
    BOOST_TEST(first.query.at("y") == "ä b");
    BOOST_TEST(first.header("x-priority").value() == "3");
    BOOST_TEST(!first.header("x-nothing"));
    BOOST_TEST(first.body == "hello");
    BOOST_TEST(first.keep_alive);
    BOOST_TEST(found.requests[1].body == "abcde");
  }
}

BOOST_AUTO_TEST_CASE(sizes_are_limited) {
  const server::http::request_limits limits{.header = 300, .body = 10};
  BOOST_TEST(refusal_of("GET / HTTP/1.1\r\nA: " + std::string(400, 'x') + "\r\n\r\n", limits) == 431);
  BOOST_TEST(refusal_of("GET /" + std::string(400, 'x'), limits) == 431);
  BOOST_TEST(refusal_of("POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", limits) == 413);
  BOOST_TEST(refusal_of("POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n", limits) == 413);
  BOOST_TEST(refusal_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n", limits) ==
             413);
  BOOST_TEST(refusal_of("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n1234567890", limits) == 0);
}

BOOST_AUTO_TEST_CASE(two_lengths_are_refused) {
  for (const auto* lengths :
       {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", "Content-Length: x\r\n", "Content-Length: -1\r\n"})
    BOOST_TEST(refusal_of("POST / HTTP/1.1\r\n" + std::string(lengths) + "\r\n0\r\n\r\n") == 400, lengths);
}

BOOST_AUTO_TEST_CASE(codings_of_a_body_are_refused) {
  const auto with = [](const std::string& line) {
    return refusal_of("POST / HTTP/1.1\r\n" + line + "\r\n\r\n0\r\n\r\n");
  };
  BOOST_TEST(with("Transfer-Encoding: chunked") == 0);
  BOOST_TEST(with("Transfer-Encoding: CHUNKED\r\nContent-Encoding: identity") == 0);
  for (const auto* coding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "identity"})
    BOOST_TEST(with("Transfer-Encoding: " + std::string(coding)) == 501, coding);
  BOOST_TEST(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip") == 400);
  BOOST_TEST(with("Transfer-Encoding: chunked\r\nContent-Encoding: gzip") == 415);
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_refused) {
  BOOST_TEST(refusal_of(std::string("\x16\x03\x01\x00garbage\r\n\r\n", 15)) == 400);
  BOOST_TEST(refusal_of("GET / HTTP/2.0\r\n\r\n") == 505);
  BOOST_TEST(refusal_of("GET nowhere HTTP/1.1\r\n\r\n") == 400);
  BOOST_TEST(refusal_of("GET /%zz HTTP/1.1\r\n\r\n") == 400);
  BOOST_TEST(refusal_of("GET /?a=%1 HTTP/1.1\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(connections_are_kept_unless_asked_otherwise) {
  const auto kept = [](const std::string& lines) {
    return parse_in_parts("GET / " + lines + "\r\n\r\n", 7).requests.at(0);
  };
  BOOST_TEST(kept("HTTP/1.1").keep_alive);
  BOOST_TEST(!kept("HTTP/1.1\r\nConnection: close").keep_alive);
  BOOST_TEST(!kept("HTTP/1.0").keep_alive);
  BOOST_TEST(!kept("HTTP/1.0").chunked_answer);
}

BOOST_AUTO_TEST_SUITE_END()
