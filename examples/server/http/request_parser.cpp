#include "http/request_parser.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

namespace server::http {
namespace {

namespace beast = boost::beast;

/// A text that grows as its bytes come, whatever length was announced.
struct growing_body {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(beast::http::header<is_request, Fields>&, std::string& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      const auto previous_size = body_.size();
      for (const auto& each : beast::buffers_range_ref(buffers))
        body_.append(static_cast<const char*>(each.data()), each.size());
      return body_.size() - previous_size;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    std::string& body_;
  };
};

std::string lower(std::string_view name) {
  std::string result(name);
  for (auto& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

parse_error error_of(const boost::system::error_code& failed, std::size_t max_header) {
  using beast::http::error;
  if (failed == error::header_limit) return {431, fmt::format("the header is longer than {} bytes", max_header)};
  if (failed == error::bad_version) return {505, "the version of HTTP must be 1.0 or 1.1"};
  if (failed == error::bad_method || failed == error::bad_target) return {400, "the first line is not one of HTTP"};
  if (failed == error::bad_field || failed == error::bad_value) return {400, "a field of the header is malformed"};
  if (failed == error::bad_line_ending) return {400, "a line of the header does not end with CR LF"};
  if (failed == error::bad_content_length || failed == error::multiple_content_length)
    return {400, "Content-Length must be one number, and not beside Transfer-Encoding"};
  if (failed == error::bad_transfer_encoding)
    return {400, "Transfer-Encoding must stand once, and not beside Content-Length"};
  if (failed == error::bad_chunk || failed == error::bad_chunk_extension)
    return {400, "a chunk of the body is malformed"};
  return {400, "the request is not HTTP"};
}

/// Whether bytes of a header have a line that goes on in the next one (RFC 9112, 5.2), which readers take differently.
bool has_folded_line(std::string_view bytes) {
  return bytes.find("\r\n ") != std::string_view::npos || bytes.find("\r\n\t") != std::string_view::npos;
}

}  // namespace

/// Refuses a chunk's extension that some readers take for the end of a line.
void check_extension(std::uint64_t, beast::string_view extension, boost::system::error_code& error) {
  const bool is_plain =
      std::ranges::none_of(extension, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; });
  error = is_plain ? boost::system::error_code() : beast::http::error::bad_chunk_extension;
}

struct request_parser::state {
  state() { parser.on_chunk_header(check); }

  std::size_t parse(std::string_view bytes);
  void read_head();
  void check_between(std::size_t bytes);

  /// Of bytes that are parsed at once: behind the header, more than what has to be whole may have.
  std::size_t max_part() const {
    return head ? std::max<std::size_t>(32 << 10, max_header + 1) : std::string_view::npos;
  }

  std::size_t max_header = 0;
  std::function<void(std::uint64_t, beast::string_view, boost::system::error_code&)> check = check_extension;
  beast::http::request_parser<growing_body> parser;
  std::optional<request> head;  // once it is complete
  std::optional<parse_error> error;
};

/// Parses one part: the header, what is between chunks, the trailer, or bytes of the body. Returns how many it took.
std::size_t request_parser::state::parse(std::string_view bytes) {
  boost::system::error_code failed;
  const auto previous_size = parser.get().body().size();
  std::size_t taken = 0;
  try {
    taken = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), failed);
  } catch (const std::length_error&) {
    error = parse_error{431, "a field of a header is longer than 65535 bytes"};
  }
  const bool is_body = parser.get().body().size() > previous_size;
  if (!is_body && has_folded_line(bytes.substr(0, taken))) error = parse_error{400, "a line of a header is folded"};
  if (failed && failed != beast::http::error::need_more) error = error_of(failed, max_header);
  if (head && !error && !is_body) check_between(taken == 0 ? bytes.size() : taken);
  if (!head && !error && parser.is_header_done()) read_head();
  return taken;
}

void request_parser::state::check_between(std::size_t bytes) {
  if (bytes > max_header)
    error =
        parse_error{400, fmt::format("what is between chunks, or behind them, is longer than {} bytes", max_header)};
}

void request_parser::state::read_head() {
  const auto& received = parser.get();
  head.emplace();
  head->method = std::string(received.method_string());
  for (const auto& field : received)
    head->headers.emplace_back(lower(std::string_view(field.name_string())), std::string(field.value()));
  head->keep_alive = parser.keep_alive();
  head->chunked_answer = received.version() >= 11;
  error = read_target(std::string_view(received.target()), *head);
  if (!error) error = repetition_error(*head);
  if (!error) error = read_host(*head);
  if (!error) error = framing_error(*head);
}

request_parser::request_parser(std::size_t max_header) : state_(std::make_unique<state>()) {
  state_->max_header = max_header;
  state_->parser.header_limit(static_cast<std::uint32_t>(max_header));
  state_->parser.body_limit(boost::none);  // who reads it knows
}

request_parser::request_parser(request_parser&&) noexcept = default;
request_parser& request_parser::operator=(request_parser&&) noexcept = default;
request_parser::~request_parser() = default;

std::size_t request_parser::put(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !is_done() && !state_->error) {
    const auto taken = state_->parse(bytes.substr(used, state_->max_part()));
    used += taken;
    if (taken == 0) break;
  }
  return used;
}

bool request_parser::has_header() const { return state_->parser.is_header_done(); }
bool request_parser::is_done() const { return state_->parser.is_done(); }

bool request_parser::wants_continue() const {
  return beast::iequals(state_->parser.get()[beast::http::field::expect], "100-continue");
}

std::uint64_t request_parser::announced_length() const { return state_->parser.content_length().value_or(0); }

const std::optional<parse_error>& request_parser::error() const noexcept { return state_->error; }

request request_parser::take_head() { return std::move(*state_->head); }
std::string request_parser::take_body() { return std::exchange(state_->parser.get().body(), {}); }

}  // namespace server::http
