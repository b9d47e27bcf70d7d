#include "http/client_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace server::http {
namespace {

void set(boost::asio::ip::tcp::socket& socket, int option, int value) noexcept {
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);  // it serves without, too
}

}  // namespace

client_socket::client_socket(socket accepted) : socket(std::move(accepted)) {
  set(*this, TCP_NODELAY, 1);
  set(*this, TCP_NOTSENT_LOWAT, max_unsent_bytes);
  non_blocking(true);
}

}  // namespace server::http
