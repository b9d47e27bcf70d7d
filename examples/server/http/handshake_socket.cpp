#include "http/handshake_socket.hpp"

#include <boost/system/system_error.hpp>

namespace server::http {

handshake_socket::handshake_socket(socket accepted, std::shared_ptr<handshake_turns> turns, std::string network)
    : client_socket(std::move(accepted)), turn_(std::move(turns), *this, std::move(network)) {}

void handshake_socket::close() noexcept {
  boost::system::error_code ignored;
  client_socket::close(ignored);
  turn_.cancel();
}

net::awaitable<handshake_socket::result> handshake_socket::read_in_turn(net::mutable_buffer buffer) {
  result done;
  try {
    do {
      co_await turn_.async_wait();
      done.bytes = read_some(net::buffer(buffer), done.error);
    } while (done.error == net::error::would_block);
  } catch (const boost::system::system_error& failed) {
    done.error = failed.code();
  }
  co_return done;
}

}  // namespace server::http
