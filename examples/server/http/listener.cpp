#include "http/listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace server::http {

using net::ip::tcp;

std::string address_text(const std::string& host, unsigned short port) {
  return fmt::format("{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]", port);
}

namespace {

/// Whose connections are counted together: an IPv4 address, or an IPv6 network of 64 bits, which one client may have
/// for itself.
net::ip::address network_of(const net::ip::address& address) {
  if (!address.is_v6()) return address;
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) return net::ip::make_address_v4(net::ip::v4_mapped, v6);
  auto bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return net::ip::address_v6(bytes);
}

/// Answers the first request of a connection that is one too many.
service refusing(const service& served, const listener_limits& limits) {
  auto result = served;
  constexpr std::chrono::seconds soon(5);
  result.limits.idle = result.limits.receive = result.limits.send = soon;
  result.handler = [refuse = served.refuse, limits](exchange& client) -> net::awaitable<void> {
    co_await client.respond(refuse({503, fmt::format("there are too many connections; at most {} are served, and {} "
                                                     "of one address",
                                                     limits.connections, limits.connections_per_address)}));
  };
  return result;
}

}  // namespace

listener::listener(net::io_context& context, const std::string& host, unsigned short port, listener_limits limits,
                   transport_factory wrap, service served)
    : acceptor_(context),
      pause_(context),
      limits_(limits),
      wrap_(std::move(wrap)),
      served_(std::move(served)),
      refused_(refusing(served_, limits)) {
  try {
    const tcp::endpoint address = *tcp::resolver(context).resolve(host, std::to_string(port), tcp::resolver::passive);
    acceptor_.open(address.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(address);
    acceptor_.listen();
    acceptor_.non_blocking(true);
  } catch (const boost::system::system_error& e) {
    throw std::runtime_error(fmt::format("cannot listen on {}: {}", address_text(host, port), e.code().message()));
  }
}

void listener::start() { net::co_spawn(acceptor_.get_executor(), accept(), net::detached); }

net::awaitable<void> listener::accept() {
  while (acceptor_.is_open()) {
    boost::system::error_code error;
    auto socket = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
    if (!error) {
      admit(std::move(socket));
      admit_waiting();
    } else if (error != net::error::operation_aborted) {  // out of descriptors, say: others will be closed
      pause_.expires_after(std::chrono::milliseconds(50));
      co_await pause_.async_wait(net::redirect_error(net::use_awaitable, error));
    }
  }
}

/// The others of a crowd, so that the last one does not wait for what each before it does meanwhile.
void listener::admit_waiting() {
  boost::system::error_code none;
  for (int more = 1; more < max_at_once; ++more) {
    auto socket = acceptor_.accept(none);
    if (none) return;  // or an error, which the next one to wait for gets
    admit(std::move(socket));
  }
}

void listener::admit(tcp::socket socket) {
  boost::system::error_code gone;
  const auto client = socket.remote_endpoint(gone);
  if (gone) return;
  const auto network = network_of(client.address());
  if (admitted_count_ >= limits_.connections || admitted_[network] >= limits_.connections_per_address)
    return refuse(std::move(socket), network.to_string());
  ++admitted_count_;
  ++admitted_[network];
  serve(std::move(socket), served_, network.to_string(), [this, network] {
    --admitted_count_;
    if (--admitted_[network] == 0) admitted_.erase(network);
  });
}

void listener::refuse(tcp::socket socket, std::string network) {
  if (refused_count_ >= max_refused) return;
  ++refused_count_;
  serve(std::move(socket), refused_, std::move(network), [this] { --refused_count_; });
}

void listener::serve(tcp::socket socket, const service& shared, std::string network, std::function<void()> ended) {
  auto client = std::make_shared<connection>(wrap_(std::move(socket), network), acceptor_.get_executor(), shared,
                                             std::move(network));
  open_.insert(client);
  if (finishing_ || &shared == &refused_) client->finish();
  net::co_spawn(acceptor_.get_executor(), client->run(), [this, client, ended = std::move(ended)](std::exception_ptr) {
    open_.erase(client);
    ended();
  });
}

void listener::finish() {
  finishing_ = true;
  for (const auto& client : open_) client->finish();
}

bool listener::is_finished() const {
  return std::ranges::none_of(open_, [](const auto& client) { return client->is_awaited(); });
}

void listener::close() {
  acceptor_.close();
  for (const auto& client : std::vector(open_.begin(), open_.end())) client->close();
}

unsigned short listener::port() const { return acceptor_.local_endpoint().port(); }

}  // namespace server::http
