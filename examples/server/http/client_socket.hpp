#pragma once

#include <boost/asio/append.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <cstddef>
#include <utility>

namespace server::http {

/// Bytes of a connection that the system holds before it has sent any of them; more wait in the process, where they are
/// counted.
inline constexpr int max_unsent_bytes = 128 << 10;

/// A socket that was accepted: small writes go out at once, and `max_unsent_bytes`.
class client_socket : public boost::asio::ip::tcp::socket {
 public:
  using socket = boost::asio::ip::tcp::socket;

  explicit client_socket(socket accepted);

  /// Without waiting first: after a read that did not fill its buffer, Asio waits for an event, and the end of the
  /// stream that came together with the bytes makes none.
  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& target, Token&& token) {
    const auto read = [this](auto handler, const Buffers& buffers) {
      boost::system::error_code error;
      const auto bytes = read_some(buffers, error);
      if (error == boost::asio::error::would_block) return socket::async_read_some(buffers, std::move(handler));
      boost::asio::post(get_executor(), boost::asio::append(std::move(handler), error, bytes));
    };
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(read, token, target);
  }
};

}  // namespace server::http
