#pragma once

#include "http/client_socket.hpp"
#include "http/transport.hpp"

#include <boost/asio/ip/tcp.hpp>

namespace server::http {

/// Bytes as they are.
class tcp_transport final : public transport {
 public:
  explicit tcp_transport(net::ip::tcp::socket socket);

  net::awaitable<void> handshake() override;
  net::awaitable<std::size_t> read_some(net::mutable_buffer buffer) override;
  net::awaitable<void> wait_closed() override;
  net::awaitable<void> write(net::const_buffer bytes) override;
  net::awaitable<void> shutdown() override;
  void close() noexcept override;

 private:
  client_socket socket_;
};

}  // namespace server::http
