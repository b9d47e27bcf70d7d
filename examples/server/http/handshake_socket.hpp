#pragma once

#include "http/client_socket.hpp"
#include "http/handshake_turns.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace server::http {

/// A client's socket beneath TLS. Each part of the handshake is read in turn, so that nobody can save up last parts,
/// which need a signature, and send them together.
class handshake_socket : public client_socket {
 public:
  handshake_socket(socket accepted, std::shared_ptr<handshake_turns> turns, std::string network);

  void end_handshake() noexcept { in_handshake_ = false; }
  void close() noexcept;

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& target, Token&& token) {
    const auto read = [this](auto handler, const Buffers& buffers) {
      if (!in_handshake_ || boost::asio::buffer_size(buffers) == 0)
        return client_socket::async_read_some(buffers, std::move(handler));
      const net::mutable_buffer first = *boost::asio::buffer_sequence_begin(buffers);
      boost::asio::co_spawn(get_executor(), read_in_turn(first),
                            [handler = std::move(handler)](const std::exception_ptr&, result done) mutable {
                              std::move(handler)(done.error, done.bytes);
                            });
    };
    return boost::asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(read, token, target);
  }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& source, Token&& token) {
    turn_.note_answer();
    return client_socket::async_write_some(source, std::forward<Token>(token));
  }

 private:
  struct result {
    boost::system::error_code error = {};
    std::size_t bytes = 0;
  };

  net::awaitable<result> read_in_turn(net::mutable_buffer buffer);

  handshake_turn turn_;
  bool in_handshake_ = true;
};

}  // namespace server::http
