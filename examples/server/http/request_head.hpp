#pragma once

#include "http/request.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace server::http {

/// Why a request is not understood.
struct parse_error {
  int status = 400;
  std::string message = {};
};

/// Reads a request's target, of which an absolute one has the authority, too.
std::optional<parse_error> read_target(std::string_view target, request& result);

/// Reads the authority from Host unless the target had one. HTTP/1.1 must have Host (RFC 9112, 3.2).
std::optional<parse_error> read_host(request& result);

/// Refuses headers that leave room for doubt about where the body ends (RFC 9112, 6), and encoded bodies.
std::optional<parse_error> framing_error(const request& head);

/// Refuses headers that decide something and stand more than once: readers would differ in which one they take.
std::optional<parse_error> repetition_error(const request& head);

/// The host of an authority, without its port and the brackets of an IPv6 address.
std::string_view host_of(std::string_view authority);

/// A path or a value of a query without its percent signs; empty where they are malformed.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace server::http
