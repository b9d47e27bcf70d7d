#pragma once

#include "http/request.hpp"

#include <string>

namespace server::http {

/// What a request is answered with.
struct response {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  fields headers = {};
};

/// The lines before a body of so many bytes; empty: the body follows in chunks, or up to the connection's end.
std::string head_of(const response& answer, std::optional<std::size_t> length, bool keep_alive, bool chunked);

/// A part of a chunked body.
std::string chunk_of(std::string_view bytes);

inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// Whether text may stand in a header: visible ASCII and spaces.
bool is_header_text(std::string_view text) noexcept;

}  // namespace server::http
