#pragma once

#include "http/body_error.hpp"
#include "http/exchange.hpp"
#include "http/fair_budget.hpp"
#include "http/request_parser.hpp"
#include "http/transport.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace server::http {

/// Limits of a connection.
struct connection_limits {
  std::size_t header = 16 << 10;              ///< bytes
  std::uint64_t body = 16 << 20;              ///< bytes of a body that is read whole
  std::chrono::milliseconds idle{75'000};     ///< between two requests
  std::chrono::milliseconds receive{30'000};  ///< from a request's first byte to its last; for parts of a streamed body
  std::chrono::milliseconds send{600'000};    ///< in which a client has to take what is written to it
  std::size_t read_ahead = 16 << 10;          ///< bytes of later requests that are read while one is answered
};

/// Answers one request; lets no exception out.
using request_handler = std::function<net::awaitable<void>(exchange&)>;

/// Answers a request that is not HTTP, or too large.
using refusal = std::function<response(const parse_error&)>;

/// What connections have in common.
struct service {
  connection_limits limits = {};
  request_handler handler = {};
  refusal refuse = {};
  std::shared_ptr<fair_budget> bodies = {};   ///< bytes of bodies that are read whole; null: they are not counted
  std::shared_ptr<fair_budget> answers = {};  ///< bytes of answers that clients have not read; null: as above
};

/// Serves the requests of one client, one after the other. For one thread.
class connection final : public exchange, public std::enable_shared_from_this<connection> {
 public:
  /// `network`: of the client, whose connections share what clients may have. The service must outlive it.
  connection(std::unique_ptr<transport> bytes, net::any_io_executor executor, const service& shared,
             std::string network);

  net::awaitable<void> run();  ///< to the connection's end; throws nothing

  /// Ends after the answer that has begun, which is then awaited, or after the next one.
  void finish() noexcept;
  bool is_awaited() const noexcept { return awaited_; }
  void close() noexcept;  ///< ends at once

  const http::request& request() const override { return request_; }
  const std::string& owner() const override { return owner_; }
  void set_owner(std::string name) override { owner_ = std::move(name); }
  net::awaitable<std::string> read_whole_body() override;
  net::awaitable<std::size_t> read_body(net::mutable_buffer buffer) override;
  net::awaitable<void> respond(response answer) override;
  net::awaitable<void> begin(response head) override;
  net::awaitable<void> write(std::string_view bytes) override;
  net::awaitable<void> end() override;
  void add_header(std::string name, std::string value) override;
  int status() const override { return status_; }

 private:
  using clock = net::steady_timer::clock_type;

  net::awaitable<void> serve();
  net::awaitable<bool> read_request();
  net::awaitable<void> answer();
  net::awaitable<void> handle();
  net::awaitable<void> watch();
  net::awaitable<bool> read_more(std::size_t most = 4 << 10);
  net::awaitable<bool> read_part(clock::time_point deadline);
  net::awaitable<void> reserve(std::uint64_t bytes);
  void add_part(std::string& whole);
  body_error too_long() const;
  body_error no_room() const;
  parse_error too_much_unread() const;
  net::awaitable<void> invite_body();
  bool body_has_ended() const noexcept { return !parser_ || parser_->is_done() || body_is_broken_; }
  void take_headers(response& answer);
  net::awaitable<void> send(std::string_view bytes);
  net::awaitable<void> refuse(parse_error why);
  net::awaitable<void> linger();
  void expire_at(clock::time_point deadline);
  void expire_after(std::chrono::milliseconds time) { expire_at(clock::now() + time); }

  std::unique_ptr<transport> bytes_;
  net::steady_timer timer_;
  const service& service_;
  const connection_limits& limits_;
  const std::string network_;
  std::string owner_;
  http::request request_;
  clock::time_point receive_deadline_;
  std::optional<request_parser> parser_;  // of a request whose body has not come whole
  net::steady_timer body_ended_;          // cancelled then
  std::string part_;                      // of the body
  counted_bytes body_bytes_;
  bool body_is_broken_ = false;
  bool may_invite_ = true;  // the client to send the body
  std::string received_;
  fields headers_;
  bool answering_ = false;
  bool awaited_ = false;
  int status_ = 0;
  bool ended_ = false;
  bool keep_alive_ = true;
  bool chunked_ = false;
};

}  // namespace server::http
