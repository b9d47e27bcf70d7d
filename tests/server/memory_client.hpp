#pragma once

#include "http/transport.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace server::test {

namespace net = boost::asio;

/// A client in memory.
struct client_side {
  explicit client_side(net::io_context& context) : changed(context, net::steady_timer::time_point::max()) {}

  void send(std::string_view bytes) {
    sent += bytes;
    changed.cancel();
  }
  void leave() {
    gone = true;
    changed.cancel();
  }
  void read_again() {
    reads = true;
    changed.cancel();
  }

  net::steady_timer changed;
  std::string sent, received;
  bool reads = true;  ///< otherwise what is written to it has to wait
  bool gone = false, closed = false;
  std::size_t reads_at_once = 4096;
};

/// The server's side of it.
class memory_transport final : public http::transport {
 public:
  explicit memory_transport(std::shared_ptr<client_side> client) : client_(std::move(client)) {}

  net::awaitable<void> handshake() override { co_return; }
  net::awaitable<std::size_t> read_some(net::mutable_buffer buffer) override {
    while (client_->sent.empty() && !client_->gone && !client_->closed) co_await change();
    if (client_->closed) throw boost::system::system_error(net::error::operation_aborted);
    const auto count = std::min({buffer.size(), client_->sent.size(), client_->reads_at_once});
    std::copy_n(client_->sent.begin(), count, static_cast<char*>(buffer.data()));
    client_->sent.erase(0, count);
    co_return count;
  }
  net::awaitable<void> wait_closed() override {
    while (!client_->gone) co_await change();
  }
  net::awaitable<void> write(net::const_buffer bytes) override {
    while (!client_->reads && !client_->closed) co_await change();
    if (client_->closed) throw boost::system::system_error(net::error::broken_pipe);
    client_->received.append(static_cast<const char*>(bytes.data()), bytes.size());
  }
  net::awaitable<void> shutdown() override { co_return; }
  void close() noexcept override {
    client_->closed = true;
    client_->changed.cancel();
  }

 private:
  net::awaitable<void> change() {
    boost::system::error_code woken;
    co_await client_->changed.async_wait(net::redirect_error(net::use_awaitable, woken));
    if ((co_await net::this_coro::cancellation_state).cancelled() != net::cancellation_type::none)
      throw boost::system::system_error(net::error::operation_aborted);
  }

  std::shared_ptr<client_side> client_;
};

}  // namespace server::test
