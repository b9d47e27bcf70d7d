#include "request_origin.hpp"

#include "api/error.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>

namespace {

struct asked_server {
  server::options settings;

  /// The status that a request is refused with; 0: it is not.
  int status(std::string method, std::string host, server::http::fields headers = {}) const {
    server::http::request request;
    request.method = std::move(method);
    request.authority = std::move(host);
    request.headers = std::move(headers);
    try {
      server::check_origin(request, settings);
    } catch (const server::api::error& why) {
      return why.status();
    }
    return 0;
  }
  int host(std::string name) const { return status("GET", std::move(name)); }
  int origin(std::string name, std::string type = "application/json") const {
    return status("POST", "127.0.0.1:8080", {{"origin", std::move(name)}, {"content-type", std::move(type)}});
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(origins_of_requests)

BOOST_AUTO_TEST_CASE(a_server_without_keys_on_a_loopback_address_is_for_this_machine) {
  for (const auto* address : {"127.0.0.1", "localhost", "::1", "127.0.0.2"}) {
    asked_server machine;
    machine.settings.host = address;
    for (const auto* host : {"127.0.0.1", "127.0.0.1:1", "localhost:8080", "LocalHost", "[::1]:8080", "127.3.2.1", ""})
      BOOST_TEST(machine.host(host) == 0, host);
    for (const auto* host : {"evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1", "0.0.0.0",
                             "[::2]", "2130706433", "localhost.", "0x7f000001", "127.1"})
      BOOST_TEST(machine.host(host) == 403, host);
    BOOST_TEST(machine.origin("http://127.0.0.1:8080") == 0);
    BOOST_TEST(machine.origin("https://127.0.0.1:8080") == 0);
    for (const auto* page : {"http://evil.example", "http://127.0.0.1", "http://127.0.0.1:8081",
                             "http://localhost:8080", "null", "", "file://", "chrome-extension://127.0.0.1"})
      BOOST_TEST(machine.origin(page) == 403, page);
  }
}

BOOST_AUTO_TEST_CASE(keys_and_other_addresses_leave_hosts_free) {
  asked_server keyed, open;
  keyed.settings.api_keys = {"first"};
  open.settings.host = "0.0.0.0";
  for (const auto* machine : {&keyed, &open}) {
    BOOST_TEST(machine->host("evil.example") == 0);
    BOOST_TEST(machine->origin("http://evil.example") == 0);
    BOOST_TEST(machine->origin("http://evil.example", "text/plain") == 415);
  }
}

BOOST_AUTO_TEST_CASE(named_hosts_are_allowed) {
  asked_server machine;
  machine.settings.host = "0.0.0.0";
  machine.settings.allowed_hosts = {"box.example", "other.example:8443"};
  for (const auto* host : {"box.example", "BOX.example:1", "other.example:8443", "localhost"})
    BOOST_TEST(machine.host(host) == 0, host);
  for (const auto* host : {"x.box.example", "other.example", "other.example:1", "evil.example"})
    BOOST_TEST(machine.host(host) == 403, host);
  BOOST_TEST(machine.origin("https://box.example") == 0);
  BOOST_TEST(machine.origin("https://evil.example") == 403);
  machine.settings.allowed_hosts = {"*"};
  BOOST_TEST(machine.host("evil.example") == 0);
  BOOST_TEST(machine.origin("https://evil.example") == 0);
}

BOOST_AUTO_TEST_CASE(cors_allows_pages_but_no_hosts) {
  asked_server machine;
  machine.settings.cors = "https://page.example";
  BOOST_TEST(machine.origin("https://page.example") == 0);
  BOOST_TEST(machine.origin("http://page.example") == 403);
  BOOST_TEST(machine.host("page.example") == 403);
  machine.settings.cors = "*";
  BOOST_TEST(machine.origin("https://evil.example") == 0);
  BOOST_TEST(machine.origin("null") == 0);
}

BOOST_AUTO_TEST_CASE(pages_send_json) {
  const asked_server machine;
  const std::string own = "http://127.0.0.1:8080";
  for (const auto* type : {"application/json", "application/json; charset=utf-8", "Application/JSON ;x"})
    BOOST_TEST(machine.origin(own, type) == 0, type);
  for (const auto* type : {"text/plain", "text/plain; application/json", "application/x-www-form-urlencoded", "",
                           "multipart/form-data", "application/jsonx", "application/json,text/plain"})
    BOOST_TEST(machine.origin(own, type) == 415, type);
  BOOST_TEST(machine.status("POST", "localhost") == 0);
  BOOST_TEST(machine.status("PUT", "127.0.0.1:8080", {{"origin", own}}) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
