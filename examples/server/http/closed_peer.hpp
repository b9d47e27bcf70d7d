#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace server::http {

namespace net = boost::asio;

/// Returns once the peer of a connected socket has closed its side or has reset the connection, even if it has sent
/// more than is read; reads nothing. A peer that has filled the socket's buffer is noticed only if it resets, and none
/// while the process has no descriptor left. Throws boost::system::system_error if it is cancelled. Linux only.
net::awaitable<void> async_wait_closed(net::ip::tcp::socket& socket);

/// Whether it has done so already; true of a socket that is not open.
bool peer_has_closed(net::ip::tcp::socket& socket) noexcept;

}  // namespace server::http
