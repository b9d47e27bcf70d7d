#include "http/client_socket.hpp"

#include "http/tcp_transport.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <linux/sockios.h>
#include <string>
#include <sys/ioctl.h>
#include <utility>

namespace http = server::http;
namespace net = boost::asio;

BOOST_AUTO_TEST_SUITE(client_sockets)

BOOST_AUTO_TEST_CASE(the_system_holds_little_that_a_client_does_not_read) {
  net::io_context context;
  net::ip::tcp::socket client(context), served(context);
  net::ip::tcp::acceptor acceptor(context, {net::ip::address_v4::loopback(), 0});
  client.connect(acceptor.local_endpoint());
  acceptor.accept(served);
  const int descriptor = served.native_handle();
  http::tcp_transport transport(std::move(served));
  const std::string answer(32 << 20, 'a');
  net::co_spawn(context, transport.write(net::buffer(answer)), net::detached);
  context.poll();
  int unsent = 0;
  BOOST_REQUIRE(::ioctl(descriptor, SIOCOUTQNSD, &unsent) == 0);
  BOOST_TEST(unsent > 0);
  constexpr int segment = 64 << 10;
  BOOST_TEST(unsent <= http::max_unsent_bytes + segment);
  transport.close();
  context.poll();
}

BOOST_AUTO_TEST_SUITE_END()
