#include "http/closed_peer.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <cerrno>
#include <sys/epoll.h>

namespace server::http {
namespace {

void require(bool done, const char* what) {
  if (!done) throw boost::system::system_error(errno, boost::system::system_category(), what);
}

}  // namespace

/// Asio waits for bytes to read, of which there are some. So this waits, by Asio, for a descriptor that waits for no
/// more than the socket's end.
net::awaitable<void> async_wait_closed(net::ip::tcp::socket& socket) {
  const int events = ::epoll_create1(EPOLL_CLOEXEC);
  require(events >= 0, "epoll_create1");
  net::posix::stream_descriptor watched(socket.get_executor(), events);
  epoll_event closed{.events = EPOLLRDHUP, .data = {}};  // and EPOLLHUP, EPOLLERR
  require(::epoll_ctl(events, EPOLL_CTL_ADD, socket.native_handle(), &closed) == 0, "epoll_ctl");
  co_await watched.async_wait(net::posix::stream_descriptor::wait_read, net::use_awaitable);
}

}  // namespace server::http
