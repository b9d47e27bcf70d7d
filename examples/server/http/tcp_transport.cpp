#include "http/tcp_transport.hpp"

#include "http/closed_peer.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace server::http {

tcp_transport::tcp_transport(net::ip::tcp::socket socket) : socket_(std::move(socket)) {}

net::awaitable<void> tcp_transport::handshake() { co_return; }

net::awaitable<std::size_t> tcp_transport::read_some(net::mutable_buffer buffer) {
  boost::system::error_code error;
  const auto read = co_await socket_.async_read_some(buffer, net::redirect_error(net::use_awaitable, error));
  if (error && error != net::error::eof) throw boost::system::system_error(error);
  co_return read;
}

net::awaitable<void> tcp_transport::wait_closed() { return async_wait_closed(socket_); }

net::awaitable<void> tcp_transport::write(net::const_buffer bytes) {
  co_await net::async_write(socket_, bytes, net::use_awaitable);
}

net::awaitable<void> tcp_transport::shutdown() {
  socket_.shutdown(net::ip::tcp::socket::shutdown_send);
  co_return;
}

void tcp_transport::close() noexcept {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

}  // namespace server::http
