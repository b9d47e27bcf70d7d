#include "http/closed_peer.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace server::http {
namespace {

/// A descriptor that has something to read once the socket has come to its end; -1 if there can be none.
int end_of(net::ip::tcp::socket& socket) {
  const int events = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event end{.events = EPOLLRDHUP, .data = {}};  // and EPOLLHUP, EPOLLERR
  if (events < 0 || ::epoll_ctl(events, EPOLL_CTL_ADD, socket.native_handle(), &end) == 0) return events;
  ::close(events);
  return -1;
}

bool has_come(int end) {
  epoll_event event;
  return ::epoll_wait(end, &event, 1, 0) > 0;
}

}  // namespace

/// Asio waits for bytes to read, of which there are some: so it waits for another descriptor here.
net::awaitable<void> async_wait_closed(net::ip::tcp::socket& socket) {
  if (const int end = end_of(socket); end >= 0) {
    net::posix::stream_descriptor watched(socket.get_executor(), end);
    do {  // what Asio has still to deliver may be of an earlier descriptor with the same number
      co_await watched.async_wait(net::posix::stream_descriptor::wait_read, net::use_awaitable);
    } while (!has_come(end));
  } else {
    net::steady_timer never(socket.get_executor(), net::steady_timer::time_point::max());
    co_await never.async_wait(net::use_awaitable);
  }
}

bool peer_has_closed(net::ip::tcp::socket& socket) noexcept {
  pollfd end{.fd = socket.native_handle(), .events = POLLRDHUP, .revents = 0};  // and POLLHUP, POLLERR
  return !socket.is_open() || ::poll(&end, 1, 0) > 0;
}

}  // namespace server::http
