#include "http/response.hpp"

#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include <iterator>

namespace server::http {

std::string head_of(const response& answer, std::optional<std::size_t> length, bool keep_alive, bool chunked) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(answer.status)));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: cogen\r\nX-Content-Type-Options: nosniff\r\n",
                                 answer.status, std::string_view(reason));
  const auto out = std::back_inserter(head);
  if (!answer.type.empty()) fmt::format_to(out, "Content-Type: {}\r\n", answer.type);
  for (const auto& [name, value] : answer.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (length)
    fmt::format_to(out, "Content-Length: {}\r\n", *length);
  else if (chunked)
    head += "Transfer-Encoding: chunked\r\n";
  if (!keep_alive) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

std::string chunk_of(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

bool is_header_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace server::http
