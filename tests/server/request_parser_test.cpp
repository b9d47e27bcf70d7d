#include "http/request_parser.hpp"

#include "../test_data.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

using server::http::request_parser;

BOOST_AUTO_TEST_SUITE(http_requests)

namespace {

const std::string two_requests =
    "POST /a%20b/c?x=1&y=%C3%A4+b HTTP/1.1\r\nHost: h\r\nX-Priority: 3\r\nContent-Length: 5\r\n\r\nhello"
    "POST /chunks HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";

struct parsed_request {
  server::http::request head;
  std::string body;
};

/// What a parser makes of bytes that arrive in parts of so many.
struct parsed {
  std::vector<parsed_request> requests;
  std::optional<server::http::parse_error> error;
};

parsed parse_in_parts(std::string_view bytes, std::size_t part, std::size_t max_header = 16 << 10) {
  parsed result;
  std::string received;
  request_parser parser(max_header);
  for (std::size_t offset = 0; offset < bytes.size(); offset += part) {
    received += bytes.substr(offset, part);
    for (;;) {
      received.erase(0, parser.put(received));
      if ((result.error = parser.error())) return result;
      if (!parser.is_done()) break;
      result.requests.push_back({parser.take_head(), parser.take_body()});
      parser = request_parser(max_header);
      if (received.empty()) break;
    }
  }
  return result;
}

int refusal_of(std::string_view bytes, std::size_t max_header = 16 << 10) {
  const auto found = parse_in_parts(bytes, bytes.size(), max_header);
  return found.error ? found.error->status : 0;
}

/// A request of tests/server/raw_requests.json: bytes, each as a character up to U+00FF, and what may come of them.
struct raw_request {
  std::string name, bytes;
  std::vector<std::int64_t> statuses;
  bool is_kept = false;  ///< whether the connection is, for sure
  bool is_malformed() const { return statuses.front() == 400 && !is_kept; }
};

std::string bytes_of(std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    bytes += static_cast<char>(c < 0x80 ? c : (c << 6 & 0xC0) | (utf8[++i] & 0x3F));
  }
  return bytes;
}

std::vector<raw_request> raw_requests() {
  std::ifstream file(cogen::test::test_data() / "server/raw_requests.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<raw_request> requests;
  const auto cases = boost::json::parse(text);
  for (const auto& each : cases.as_array())
    requests.push_back({boost::json::value_to<std::string>(each.at("name")), bytes_of(each.at("request").as_string()),
                        boost::json::value_to<std::vector<std::int64_t>>(each.at("statuses")),
                        each.at("closes") == boost::json::value(false)});
  return requests;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_cut_makes_no_difference) {
  for (std::size_t part = 1; part <= two_requests.size(); ++part) {
    const auto found = parse_in_parts(two_requests, part);
    BOOST_TEST_REQUIRE(found.requests.size() == 2U);
    const auto& first = found.requests[0].head;
    BOOST_TEST(first.method == "POST");
    BOOST_TEST(first.path == "/a b/c");
    BOOST_TEST(first.query.at("y") == "ä b");
    BOOST_TEST(first.header("x-priority").value() == "3");
    BOOST_TEST(!first.header("x-nothing"));
    BOOST_TEST(found.requests[0].body == "hello");
    BOOST_TEST(first.authority == "h");
    BOOST_TEST(first.keep_alive);
    BOOST_TEST(found.requests[1].body == "abcde");
  }
}

BOOST_AUTO_TEST_CASE(sizes_are_limited) {
  const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n";
  BOOST_TEST(refusal_of(get + "A: " + std::string(400, 'x') + "\r\n\r\n", 300) == 431);
  BOOST_TEST(refusal_of("GET /" + std::string(400, 'x'), 300) == 431);
  const auto chunked = [&](const std::string& chunks) { return get + "Transfer-Encoding: chunked\r\n\r\n" + chunks; };
  BOOST_TEST(refusal_of(chunked("1;" + std::string(400, 'x')), 300) == 400);
  BOOST_TEST(refusal_of(chunked("0\r\nA: " + std::string(400, 'x')), 300) == 400);
  BOOST_TEST(refusal_of(chunked("190\r\n" + std::string(400, 'x') + "\r\n0\r\n\r\n"), 300) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_between_chunks_is_as_long_as_it_may_be_however_it_is_cut) {
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto extension = [](std::size_t size) { return "1;" + std::string(size - 4, 'x') + "\r\nb\r\n0\r\n\r\n"; };
  const auto field = [](std::size_t size) { return "0\r\nA: " + std::string(size - 10, 'x') + "\r\n\r\n"; };
  const auto name = [](std::size_t size) { return "0\r\n" + std::string(size - 10, 'x') + ": a\r\n\r\n"; };
  const auto fields = [](std::size_t size) {
    std::string text = "0\r\n";
    while (text.size() + 14 < size) text += "A: bcd\r\n";
    return text + "A:" + std::string(size - text.size() - 6, 'x') + "\r\n\r\n";
  };
  for (const auto& make : std::vector<std::function<std::string(std::size_t)>>{extension, field, name, fields})
    for (const std::size_t size : {300, 301, 5000, 40000, 70000, 140000})
      for (const std::size_t part : {1, 7, 250, 8000, 65536, 200000}) {
        const auto found = parse_in_parts(head + make(size), part, 300);
        BOOST_TEST(found.error.has_value() == (size > 300), size << " bytes in parts of " << part);
      }
}

BOOST_AUTO_TEST_CASE(raw_requests_are_taken_alike_however_they_are_cut) {
  for (const auto& each : raw_requests()) {
    const auto bytes = each.bytes + "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const auto whole = parse_in_parts(bytes, bytes.size());
    BOOST_TEST(whole.requests.size() == (each.is_malformed() ? 0U : 2U), each.name);
    BOOST_TEST(whole.error.has_value() == each.is_malformed(), each.name);
    if (whole.error) BOOST_TEST(std::ranges::count(each.statuses, whole.error->status) == 1, each.name);
    for (std::size_t part = 1; part < bytes.size(); ++part) {
      const auto cut = parse_in_parts(bytes, part);
      BOOST_TEST_REQUIRE(cut.error.has_value() == whole.error.has_value(), each.name << " in parts of " << part);
      BOOST_TEST_REQUIRE(cut.requests.size() == whole.requests.size(), each.name << " in parts of " << part);
      if (!whole.requests.empty()) BOOST_TEST(cut.requests[0].body == whole.requests[0].body, each.name);
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_show_no_more_than_the_beginning_of_a_field) {
  const std::string text(9000, 'x');
  for (const auto& lines :
       {"Host: " + text + "/", "Host: h\r\nContent-Encoding: " + text, "Host: h\r\nTransfer-Encoding: " + text}) {
    const auto request = "POST / HTTP/1.1\r\n" + lines + "\r\n\r\n";
    const auto found = parse_in_parts(request, request.size());
    BOOST_TEST_REQUIRE(found.error.has_value());
    BOOST_TEST(found.error->message.size() < 200U);
  }
}

BOOST_AUTO_TEST_CASE(encoded_bodies_are_refused) {
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Encoding: ";
  BOOST_TEST(refusal_of(post + "identity\r\n\r\n0\r\n\r\n") == 0);
  BOOST_TEST(refusal_of(post + "gzip\r\n\r\n0\r\n\r\n") == 415);
}

BOOST_AUTO_TEST_CASE(an_absolute_target_names_the_host) {
  const auto authority = [](const std::string& target) {
    return parse_in_parts("GET " + target + " HTTP/1.1\r\nHost: h:1\r\n\r\n", 7).requests.at(0).head.authority;
  };
  BOOST_TEST(authority("/") == "h:1");
  BOOST_TEST(authority("http://other:2/path") == "other:2");
  BOOST_TEST(server::http::host_of("other:2") == "other");
  BOOST_TEST(server::http::host_of("[::1]:2") == "::1");
  BOOST_TEST(server::http::host_of("[::1]") == "::1");
  BOOST_TEST(server::http::host_of("") == "");
}

BOOST_AUTO_TEST_CASE(connections_are_kept_unless_asked_otherwise) {
  const auto kept = [](const std::string& lines) {
    return parse_in_parts("GET / " + lines + "\r\nHost: h\r\n\r\n", 7).requests.at(0).head;
  };
  BOOST_TEST(kept("HTTP/1.1").keep_alive);
  BOOST_TEST(!kept("HTTP/1.1\r\nConnection: close").keep_alive);
  BOOST_TEST(!kept("HTTP/1.0").keep_alive);
  BOOST_TEST(!kept("HTTP/1.0").chunked_answer);
}

BOOST_AUTO_TEST_SUITE_END()
