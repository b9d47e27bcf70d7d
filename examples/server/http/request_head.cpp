#include "http/request_head.hpp"

#include <boost/beast/core/string.hpp>
#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace server::http {
namespace {

using boost::beast::iequals;

constexpr std::size_t max_shown = 60;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_name_character(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}
bool is_address_character(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
}

std::size_t length_of_host(std::string_view authority) {
  if (!authority.starts_with('[')) return std::min(authority.find(':'), authority.size());
  const auto bracket = authority.find(']');
  return bracket == std::string_view::npos ? authority.size() : bracket + 1;
}

/// A name or an address, and perhaps a port.
bool is_authority(std::string_view text) {
  const auto length = length_of_host(text);
  const auto host = host_of(text), rest = text.substr(length);
  const bool is_address = text.starts_with('[') && text.substr(0, length).ends_with(']');
  if (host.empty() || !std::ranges::all_of(host, is_address ? is_address_character : is_name_character)) return false;
  return rest.empty() || (rest.starts_with(':') && rest.size() <= 6 && std::ranges::all_of(rest.substr(1), is_digit));
}

parse_error malformed_host(std::string_view value) {
  return {400, fmt::format("Host is \"{}\"; it must be a host, and perhaps a port", value.substr(0, max_shown))};
}

/// Takes the scheme and the authority from an absolute target (RFC 9112, 3.2.2).
std::optional<parse_error> take_authority(std::string_view& target, request& result) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!iequals(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const auto end = std::min(target.find_first_of("/?"), target.size());
    result.authority = target.substr(0, end);
    target.remove_prefix(end);
    if (!is_authority(result.authority)) return malformed_host(result.authority);
  }
  return std::nullopt;
}

std::optional<parse_error> read_query(std::string_view text, request& result) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto field = text.substr(0, end);
    const auto equals = field.find('=');
    auto name = percent_decoded(field.substr(0, equals), true);
    auto value = percent_decoded(equals == std::string_view::npos ? "" : field.substr(equals + 1), true);
    if (!name || !value) return parse_error{400, "the query of the request is malformed"};
    result.query.emplace(std::move(*name), std::move(*value));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return std::nullopt;
}

std::size_t count_of(const request& head, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(head.headers, [&](const auto& field) { return iequals(field.first, name); }));
}

}  // namespace

std::optional<parse_error> read_target(std::string_view target, request& result) {
  if (auto error = take_authority(target, result)) return error;
  const auto question = std::min(target.find('?'), target.size());
  auto path = percent_decoded(target.substr(0, question), false);
  if (path && path->empty() && !result.authority.empty()) path = "/";
  if (!path || !path->starts_with('/')) return parse_error{400, "the target of the request is malformed"};
  result.path = std::move(*path);
  return question == target.size() ? std::nullopt : read_query(target.substr(question + 1), result);
}

std::optional<parse_error> read_host(request& result) {
  const auto host = result.header("host");
  if (!host && !result.chunked_answer) return std::nullopt;
  if (!host) return parse_error{400, "Host is missing; a request of HTTP/1.1 must have it"};
  if (!is_authority(*host)) return malformed_host(*host);
  if (result.authority.empty()) result.authority = *host;
  return std::nullopt;
}

std::optional<parse_error> repetition_error(const request& head) {
  for (const std::string_view name : {"Host", "Origin", "Authorization", "X-Api-Key", "Content-Type", "Content-Length"})
    if (const auto count = count_of(head, name); count > 1)
      return parse_error{400, fmt::format("{} stands {} times in the header; it must stand once", name, count)};
  return std::nullopt;
}

std::optional<parse_error> framing_error(const request& head) {
  for (const auto& [name, value] : head.headers) {
    const auto shown = std::string_view(value).substr(0, max_shown);
    if (name == "content-length" && !std::ranges::all_of(value, is_digit))
      return parse_error{400, fmt::format("Content-Length is \"{}\"; it must be a number", shown)};
    if (name == "transfer-encoding" && !iequals(value, "chunked"))
      return parse_error{501, fmt::format("Transfer-Encoding is \"{}\"; it must be chunked", shown)};
    if (name == "transfer-encoding" && !head.chunked_answer)
      return parse_error{400, fmt::format("Transfer-Encoding is \"{}\"; HTTP/1.0 does not have it", shown)};
    if (name == "content-encoding" && !iequals(value, "identity"))
      return parse_error{415, fmt::format("Content-Encoding is \"{}\"; it must be identity", shown)};
  }
  return std::nullopt;
}

std::string_view host_of(std::string_view authority) {
  auto host = authority.substr(0, length_of_host(authority));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  for (std::size_t index = 0; index < text.size(); ++index) {
    if (text[index] != '%') {
      result += plus_is_space && text[index] == '+' ? ' ' : text[index];
      continue;
    }
    const auto digits = text.substr(index + 1, 2);
    unsigned value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() < 2 || read.ptr != digits.data() + 2) return std::nullopt;
    result += static_cast<char>(value);
    index += 2;
  }
  return result;
}

}  // namespace server::http
