#include "http/closed_peer.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>
#include <sys/resource.h>

namespace http = server::http;
namespace net = boost::asio;

namespace {

/// A connection over the loopback, whose one side waits for the other one to close. What it is sent is never read.
struct watched_connection {
  net::io_context context;
  net::ip::tcp::socket client{context}, watched{context};
  net::cancellation_signal cancel;
  bool over = false;
  std::exception_ptr failed;

  watched_connection() {
    net::ip::tcp::acceptor acceptor(context, {net::ip::address_v4::loopback(), 0});
    client.connect(acceptor.local_endpoint());
    acceptor.accept(watched);
    net::write(client, net::buffer(std::string(1000, 'x')));
  }

  void wait() {
    net::co_spawn(context, http::async_wait_closed(watched),
                  net::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr why) {
                    over = true;
                    failed = why;
                  }));
    context.poll();
    net::write(client, net::buffer(std::string(1000, 'x')));
    context.poll();
  }

  void run_until_over() {
    while (!over) context.run_one();
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(closed_peers)

BOOST_AUTO_TEST_CASE(bytes_are_no_end) {
  watched_connection peer;
  peer.wait();
  BOOST_TEST(!peer.over);
  BOOST_TEST(peer.watched.available() == 2000U);
}

BOOST_AUTO_TEST_CASE(a_closed_side_is_noticed_behind_bytes) {
  watched_connection peer;
  peer.wait();
  peer.client.shutdown(net::ip::tcp::socket::shutdown_send);
  peer.run_until_over();
  BOOST_TEST(!peer.failed);
  BOOST_TEST(peer.watched.available() == 2000U);
}

BOOST_AUTO_TEST_CASE(a_reset_is_noticed) {
  watched_connection peer;
  peer.wait();
  peer.client.set_option(net::socket_base::linger(true, 0));
  peer.client.close();
  peer.run_until_over();
  BOOST_TEST(!peer.failed);
}

BOOST_AUTO_TEST_CASE(waiting_is_cancelled) {
  watched_connection peer;
  peer.wait();
  peer.cancel.emit(net::cancellation_type::terminal);
  peer.run_until_over();
  BOOST_CHECK(peer.failed);
}

BOOST_AUTO_TEST_CASE(without_a_descriptor_nothing_is_noticed) {
  watched_connection peer;
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  const rlimit none{.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  peer.wait();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  peer.client.close();
  peer.context.poll();
  BOOST_TEST(!peer.over);
  peer.cancel.emit(net::cancellation_type::terminal);
  peer.run_until_over();
}

BOOST_AUTO_TEST_SUITE_END()
