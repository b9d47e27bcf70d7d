#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>

#include <cstddef>

namespace server::http {

namespace net = boost::asio;

/// A connection's bytes. Operations throw boost::system::system_error. One read and one write may be pending at once.
class transport {
 public:
  virtual ~transport() = default;
  virtual net::awaitable<void> handshake() = 0;  ///< before anything else
  /// Reads at least one byte. 0: the client has closed its side. A cancelled read loses nothing.
  virtual net::awaitable<std::size_t> read_some(net::mutable_buffer buffer) = 0;
  /// Returns once the client has closed its side or has reset the connection; reads nothing, whatever else it sends.
  virtual net::awaitable<void> wait_closed() = 0;
  virtual net::awaitable<void> write(net::const_buffer bytes) = 0;  ///< all of them
  virtual net::awaitable<void> shutdown() = 0;                      ///< nothing more will be written
  virtual void close() noexcept = 0;                                ///< pending operations fail
};

}  // namespace server::http
