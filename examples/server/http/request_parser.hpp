#pragma once

#include "http/request.hpp"
#include "http/request_head.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace server::http {

/// Reads one HTTP/1 request from bytes, however they are cut. No I/O.
class request_parser {
 public:
  /// With a limit for the bytes of the header, and for those between two chunks of the body, or behind the last one.
  explicit request_parser(std::size_t max_header);
  request_parser(request_parser&&) noexcept;
  request_parser& operator=(request_parser&&) noexcept;
  ~request_parser();

  /// Reads from the bytes that are left, and returns how many of them it needs no more. Those of the next request, and
  /// those of a header that is not complete, stay. After an error nothing may follow.
  std::size_t put(std::string_view bytes);

  bool has_header() const;                 ///< whether the header is complete
  bool is_done() const;                    ///< whether the request is complete
  bool wants_continue() const;             ///< whether the client waits for "100 Continue" before it sends the body
  std::uint64_t announced_length() const;  ///< of the body; 0 if it comes in chunks
  const std::optional<parse_error>& error() const noexcept;
  request take_head();      ///< once it is complete
  std::string take_body();  ///< what has come of the body since the last call

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace server::http
