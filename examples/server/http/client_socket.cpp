#include "http/client_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace server::http {
namespace {

void set(boost::asio::ip::tcp::socket& socket, int option, int value) noexcept {
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);  // it serves without, too
}

}  // namespace

void prepare(boost::asio::ip::tcp::socket& socket) noexcept {
  set(socket, TCP_NODELAY, 1);
  set(socket, TCP_NOTSENT_LOWAT, max_unsent_bytes);
}

}  // namespace server::http
