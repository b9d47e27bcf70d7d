#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace server::http {

/// Bytes of a connection that the system holds before it has sent any of them; more wait in the process, where they are
/// counted.
inline constexpr int max_unsent_bytes = 128 << 10;

/// Sets what a socket that was accepted should have: small writes go out at once, and `max_unsent_bytes`.
void prepare(boost::asio::ip::tcp::socket& socket) noexcept;

}  // namespace server::http
