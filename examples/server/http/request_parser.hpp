#pragma once

#include "http/request.hpp"
#include "http/response.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace server::http {

/// How large a request may be, in bytes.
struct request_limits {
  std::size_t header = 16 << 10;
  std::uint64_t body = 16 << 20;
  /// Whose bodies are taken part by part, and not limited; by default nobody's.
  std::function<bool(const request&)> streams_body = {};
};

/// Why a request is not understood.
struct parse_error {
  int status = 400;
  std::string message = {};
};

/// Reads one HTTP/1 request from bytes, however they are cut. No I/O.
class request_parser {
 public:
  explicit request_parser(const request_limits& limits);
  request_parser(request_parser&&) noexcept;
  request_parser& operator=(request_parser&&) noexcept;
  ~request_parser();

  /// Reads from the bytes that are left, and returns how many of them it needs no more. Those of the next request, and
  /// those of a header that is not complete, stay. After an error nothing may follow.
  std::size_t put(std::string_view bytes);

  bool has_header() const;      ///< whether the header is complete
  bool is_done() const;         ///< whether the request is complete
  bool streams_body() const;    ///< whether the header is complete and says so, by request_limits
  bool wants_continue() const;  ///< whether the client waits for "100 Continue" before it sends the body
  const std::optional<parse_error>& error() const noexcept;
  std::string take_body();  ///< what has come of the body since the last call
  request release();        ///< the request, with what was not taken of its body

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A path or a value of a query without its percent signs; empty where they are malformed.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace server::http
