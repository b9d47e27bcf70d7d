#include "request_origin.hpp"

#include "api/error.hpp"
#include "api/valid_text.hpp"
#include "http/request_head.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace server {
namespace {

using boost::beast::iequals;

bool is_loopback(std::string_view host) {
  boost::system::error_code no_address;
  const auto address = boost::asio::ip::make_address(std::string(host), no_address);
  return no_address ? iequals(host, "localhost") : address.is_loopback();
}

/// Without a key, a server for this machine alone must not answer pages of the Internet, which its browsers show.
bool restricts_hosts(const options& settings) {
  return !settings.allowed_hosts.empty() || (settings.api_keys.empty() && is_loopback(settings.host));
}

bool is_allowed(std::string_view authority, const options& settings) {
  return std::ranges::any_of(settings.allowed_hosts, [&](const std::string& allowed) {
    return allowed == "*" || iequals(allowed, authority) || iequals(allowed, http::host_of(authority));
  });
}

std::string_view authority_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
}

[[noreturn]] void refuse(std::string_view header, std::string_view value, std::string_view allowed) {
  throw api::error(
      403, "permission_error",
      fmt::format("{} is \"{}\"; it must be {}", header, api::valid_text(std::string(value.substr(0, 100))), allowed));
}

void check_host(std::string_view authority, const options& settings) {
  if (authority.empty() || is_loopback(http::host_of(authority)) || is_allowed(authority, settings)) return;
  refuse("Host", authority, "a loopback address, localhost or one of --allowed-hosts");
}

void check_page(std::string_view origin, std::string_view authority, const options& settings) {
  const auto page = authority_of(origin);
  if (iequals(page, authority) || is_allowed(page, settings)) return;
  if (settings.cors == "*" || (!origin.empty() && settings.cors == origin)) return;
  refuse("Origin", origin, "the server's own, that of --cors or one of --allowed-hosts");
}

/// Browsers ask before they send this type across origins, and send others unasked.
void check_type(const http::request& request) {
  const auto given = request.header("content-type").value_or("");
  auto type = given.substr(0, given.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  if (iequals(type, "application/json")) return;
  throw api::error(415, "invalid_request_error",
                   fmt::format("Content-Type is \"{}\"; pages must send application/json",
                               api::valid_text(std::string(given.substr(0, 100)))));
}

}  // namespace

void check_origin(const http::request& request, const options& settings) {
  const auto origin = request.header("origin");
  if (restricts_hosts(settings)) {
    check_host(request.authority, settings);
    if (origin) check_page(*origin, request.authority, settings);
  }
  if (origin && request.method == "POST") check_type(request);
}

}  // namespace server
