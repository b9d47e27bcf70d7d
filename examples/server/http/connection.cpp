#include "http/connection.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace server::http {
namespace {

constexpr std::size_t large_part = 64 << 10;

}  // namespace

connection::connection(std::unique_ptr<transport> bytes, net::any_io_executor executor, const service& shared,
                       std::string network)
    : bytes_(std::move(bytes)),
      timer_(executor),
      service_(shared),
      limits_(shared.limits),
      network_(std::move(network)),
      body_ended_(executor, net::steady_timer::time_point::max()) {}

net::awaitable<void> connection::run() {
  try {
    co_await serve();
  } catch (const std::exception&) {
    // The client is gone, or its time is over: there is nobody to tell.
  }
  timer_.cancel();
  bytes_->close();
  body_bytes_ = {};
}

net::awaitable<void> connection::serve() {
  expire_after(limits_.receive);
  co_await bytes_->handshake();
  do {
    if (!co_await read_request()) break;
    co_await answer();
  } while (keep_alive_);
  co_await linger();
}

net::awaitable<bool> connection::read_request() {
  request_parser parser(limits_.header);
  parser_.reset();
  bool started = !received_.empty();
  expire_after(started ? limits_.receive : limits_.idle);
  receive_deadline_ = timer_.expiry();
  for (;;) {
    received_.erase(0, parser.put(received_));
    if (parser.error()) {
      co_await refuse(*parser.error());
      co_return false;
    }
    if (parser.has_header()) break;
    if (!co_await read_more()) co_return false;
    if (std::exchange(started, true)) continue;
    expire_after(limits_.receive);
    receive_deadline_ = timer_.expiry();
  }
  timer_.cancel();
  request_ = parser.take_head();
  owner_ = network_;
  part_ = parser.take_body();
  if (!parser.is_done()) parser_ = std::move(parser);
  body_is_broken_ = false;
  may_invite_ = true;
  keep_alive_ = keep_alive_ && request_.keep_alive;
  co_return true;
}

net::awaitable<bool> connection::read_more(std::size_t most) {
  const auto space = std::make_unique_for_overwrite<char[]>(most);
  const auto read = co_await bytes_->read_some(net::buffer(space.get(), most));
  received_.append(space.get(), read);
  co_return read > 0;
}

/// Tells a client that waits for leave to send the body.
net::awaitable<void> connection::invite_body() {
  if (part_.empty() && !body_has_ended() && std::exchange(may_invite_, false) && parser_->wants_continue())
    co_await send("HTTP/1.1 100 Continue\r\n\r\n");
}

net::awaitable<std::string> connection::read_whole_body() {
  std::string whole;
  body_bytes_ = counted_bytes(service_.bodies, owner_);
  if (parser_) {
    co_await reserve(parser_->announced_length());
    whole.reserve(parser_->announced_length());
  }
  co_await invite_body();
  add_part(whole);
  while (!body_has_ended()) {
    body_is_broken_ = !co_await read_part(receive_deadline_);
    if (body_is_broken_ && parser_->error()) throw body_error(parser_->error()->status, parser_->error()->message);
    if (body_is_broken_) throw boost::system::system_error(net::error::connection_reset);
    add_part(whole);
  }
  body_ended_.cancel();
  co_return whole;
}

/// Room for a whole body, before it comes: half of one would keep others out. Time to wait for it is none of receiving.
net::awaitable<void> connection::reserve(std::uint64_t bytes) {
  using namespace net::experimental::awaitable_operators;
  if (bytes > limits_.body) throw too_long();
  if (body_bytes_.grow_to(bytes)) co_return;
  const auto room = co_await (body_bytes_.async_grow_to(bytes, receive_deadline_) || bytes_->wait_closed());
  if (room.index() == 1) throw boost::system::system_error(net::error::connection_reset);
  if (!std::get<0>(room)) throw no_room();
  receive_deadline_ = clock::now() + limits_.receive;
}

body_error connection::too_long() const { return {413, fmt::format("the body is longer than {} bytes", limits_.body)}; }

body_error connection::no_room() const {
  return {503, fmt::format("the bodies of all requests may have {} bytes together, and there is no room for another",
                           service_.bodies->limit())};
}

void connection::add_part(std::string& whole) {
  const auto part = std::exchange(part_, {});
  if (whole.size() + part.size() > limits_.body) throw too_long();
  if (!body_bytes_.grow_to(whole.size() + part.size())) throw no_room();
  whole += part;
}

net::awaitable<std::size_t> connection::read_body(net::mutable_buffer buffer) {
  co_await invite_body();
  while (part_.empty() && !body_has_ended()) body_is_broken_ = !co_await read_part(clock::now() + limits_.receive);
  const auto count = std::min(buffer.size(), part_.size());
  std::copy_n(part_.begin(), count, static_cast<char*>(buffer.data()));
  part_.erase(0, count);
  if (body_has_ended()) body_ended_.cancel();
  co_return count;
}

/// Reads on in the body; false if it cannot go on.
net::awaitable<bool> connection::read_part(clock::time_point deadline) {
  received_.erase(0, parser_->put(received_));
  part_ = parser_->take_body();
  if (parser_->error()) co_return false;
  if (!part_.empty() || parser_->is_done()) co_return true;
  expire_at(deadline);
  const bool more = co_await read_more(large_part);
  timer_.cancel();
  co_return more;
}

/// The one of both that ends first cancels the other: a client that goes away ends what makes its answer.
net::awaitable<void> connection::answer() {
  using namespace net::experimental::awaitable_operators;
  headers_.clear();
  status_ = 0;
  ended_ = false;
  answering_ = true;
  const auto first = co_await (handle() || watch());
  answering_ = false;
  if (first.index() == 1 || !ended_) throw boost::system::system_error(net::error::connection_reset);
}

net::awaitable<void> connection::handle() {
  try {
    co_await service_.handler(*this);
  } catch (const std::exception&) {
    // What was begun cannot be finished; the connection ends.
  }
}

/// Returns when the client has closed its side, after the body. Bytes of its next requests are kept, up to a limit.
net::awaitable<void> connection::watch() {
  boost::system::error_code woken;
  if (!body_has_ended()) co_await body_ended_.async_wait(net::redirect_error(net::use_awaitable, woken));
  try {
    while (received_.size() < limits_.read_ahead)
      if (!co_await read_more()) co_return;
    co_await bytes_->wait_closed();
  } catch (const boost::system::system_error&) {
    // The connection was reset, which ends it as well.
  }
}

void connection::add_header(std::string name, std::string value) {
  headers_.emplace_back(std::move(name), std::move(value));
}

void connection::take_headers(response& answer) {
  keep_alive_ = keep_alive_ && body_has_ended() && !body_is_broken_;
  status_ = answer.status;
  answer.headers.insert(answer.headers.end(), headers_.begin(), headers_.end());
  body_bytes_ = {};
}

net::awaitable<void> connection::respond(response answer) {
  counted_bytes unread(service_.answers, owner_);
  if (!unread.grow_to(answer.body.size())) answer = service_.refuse(too_much_unread());
  take_headers(answer);
  auto head = head_of(answer, answer.body.size(), keep_alive_, false);
  if (request_.method == "HEAD") answer.body.clear();
  if (answer.body.size() < large_part) head += std::exchange(answer.body, {});
  co_await send(head);
  if (!answer.body.empty()) co_await send(answer.body);
  ended_ = true;
}

parse_error connection::too_much_unread() const {
  return {503, fmt::format("the answers that clients have not read may have {} bytes together, and there is no "
                           "room for another",
                           service_.answers->limit())};
}

net::awaitable<void> connection::begin(response head) {
  take_headers(head);
  chunked_ = request_.chunked_answer;
  keep_alive_ = keep_alive_ && chunked_;
  co_await send(head_of(head, std::nullopt, keep_alive_, chunked_));
}

net::awaitable<void> connection::write(std::string_view bytes) {
  if (bytes.empty() || request_.method == "HEAD") co_return;  // an empty chunk would end the answer
  counted_bytes unread(service_.answers, owner_);
  if (!unread.grow_to(bytes.size())) throw body_error(503, too_much_unread().message);
  co_await send(chunked_ ? chunk_of(bytes) : std::string(bytes));
}

net::awaitable<void> connection::end() {
  if (chunked_ && request_.method != "HEAD") co_await send(last_chunk);
  ended_ = true;
}

net::awaitable<void> connection::send(std::string_view bytes) {
  expire_after(limits_.send);
  co_await bytes_->write(net::buffer(bytes.data(), bytes.size()));
  timer_.cancel();
}

net::awaitable<void> connection::refuse(parse_error why) {
  keep_alive_ = false;
  request_ = {};
  co_await respond(service_.refuse(why));
}

/// Reads for a moment what the client still sends: closing before that would reset the connection, and the client might
/// not see the answer.
net::awaitable<void> connection::linger() {
  if (!ended_) co_return;
  expire_after(std::chrono::seconds(1));
  co_await bytes_->shutdown();
  do received_.clear();
  while (co_await read_more(large_part));
}

void connection::finish() noexcept {
  keep_alive_ = false;
  awaited_ = answering_;
}

void connection::close() noexcept { bytes_->close(); }

void connection::expire_at(clock::time_point deadline) {
  timer_.expires_at(deadline);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (!cancelled && self && self->timer_.expiry() <= clock::now()) self->close();
  });
}

}  // namespace server::http
