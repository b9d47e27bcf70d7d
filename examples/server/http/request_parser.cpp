#include "http/request_parser.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <fmt/format.h>

#include <charconv>
#include <limits>
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
    reader(beast::http::header<is_request, Fields>&, std::string& into) : into_(into) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      const auto before = into_.size();
      for (const auto& each : beast::buffers_range_ref(buffers))
        into_.append(static_cast<const char*>(each.data()), each.size());
      return into_.size() - before;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    std::string& into_;
  };
};

std::string lower(std::string_view name) {
  std::string result(name);
  for (auto& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

parse_error error_of(const boost::system::error_code& error, const request_limits& limits) {
  if (error == beast::http::error::header_limit)
    return {431, fmt::format("the header is longer than {} bytes", limits.header)};
  if (error == beast::http::error::body_limit)
    return {413, fmt::format("the body is longer than {} bytes", limits.body)};
  if (error == beast::http::error::bad_version) return {505, "the version of HTTP must be 1.0 or 1.1"};
  return {400, "the request is not HTTP: " + error.message()};
}

std::optional<parse_error> read_target(std::string_view target, request& into) {
  const auto question = target.find('?');
  auto path = percent_decoded(target.substr(0, question), false);
  if (!path || path->empty() || path->front() != '/') return parse_error{400, "the target of the request is malformed"};
  into.path = std::move(*path);
  if (question == std::string_view::npos) return std::nullopt;
  auto rest = target.substr(question + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto one = rest.substr(0, end);
    const auto equals = one.find('=');
    auto name = percent_decoded(one.substr(0, equals), true);
    auto value = percent_decoded(equals == std::string_view::npos ? "" : one.substr(equals + 1), true);
    if (!name || !value) return parse_error{400, "the query of the request is malformed"};
    into.query.emplace(std::move(*name), std::move(*value));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return std::nullopt;
}

/// A body is as it stands, or in chunks. Of other codings it is not known where it ends, or what it says.
std::optional<parse_error> coding_error(const request& head) {
  for (const auto& [name, value] : head.headers) {
    if (name == "transfer-encoding" && !beast::iequals(value, "chunked"))
      return parse_error{501, fmt::format("Transfer-Encoding is \"{}\"; it must be chunked", value.substr(0, 60))};
    if (name == "content-encoding" && !beast::iequals(value, "identity"))
      return parse_error{415, fmt::format("Content-Encoding is \"{}\"; it must be identity", value.substr(0, 60))};
  }
  return std::nullopt;
}

}  // namespace

struct request_parser::state {
  void read_head();

  request_limits limits;
  beast::http::request_parser<growing_body> parser;
  std::optional<request> head;  // once it is complete
  bool streams_body = false;
  std::optional<parse_error> error;
};

void request_parser::state::read_head() {
  const auto& received = parser.get();
  head.emplace();
  head->method = std::string(received.method_string());
  for (const auto& field : received)
    head->headers.emplace_back(lower(std::string_view(field.name_string())), std::string(field.value()));
  head->keep_alive = received.keep_alive();
  head->chunked_answer = received.version() >= 11;
  error = read_target(std::string_view(received.target()), *head);
  if (!error) error = coding_error(*head);
  streams_body = !error && limits.streams_body && limits.streams_body(*head);
  if (error || streams_body) return;
  if (parser.content_length().value_or(0) > limits.body) error = error_of(beast::http::error::body_limit, limits);
  parser.body_limit(limits.body);
}

request_parser::request_parser(const request_limits& limits) : state_(std::make_unique<state>()) {
  state_->limits = limits;
  state_->parser.header_limit(static_cast<std::uint32_t>(limits.header));
  state_->parser.body_limit(boost::none);  // until the header says whose body it is
}

request_parser::request_parser(request_parser&&) noexcept = default;
request_parser& request_parser::operator=(request_parser&&) noexcept = default;
request_parser::~request_parser() = default;

std::size_t request_parser::put(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !is_done() && !state_->error) {
    boost::system::error_code error;
    const auto step = state_->parser.put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
    used += step;
    if (error == beast::http::error::need_more) error = {};
    if (error) state_->error = error_of(error, state_->limits);
    if (has_header() && !state_->head && !error) {
      state_->read_head();
      state_->parser.eager(true);
      continue;
    }
    if (step == 0) break;
  }
  return used;
}

bool request_parser::has_header() const { return state_->parser.is_header_done(); }
bool request_parser::is_done() const { return state_->parser.is_done(); }

bool request_parser::streams_body() const { return state_->streams_body; }

bool request_parser::wants_continue() const {
  return beast::iequals(state_->parser.get()[beast::http::field::expect], "100-continue");
}

const std::optional<parse_error>& request_parser::error() const noexcept { return state_->error; }

std::string request_parser::take_body() { return std::exchange(state_->parser.get().body(), {}); }

request request_parser::release() {
  state_->head->body = take_body();
  return std::move(*state_->head);
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      result += plus_is_space && text[at] == '+' ? ' ' : text[at];
      continue;
    }
    const auto digits = text.substr(at + 1, 2);
    unsigned value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() < 2 || read.ptr != digits.data() + 2) return std::nullopt;
    result += static_cast<char>(value);
    at += 2;
  }
  return result;
}

}  // namespace server::http
