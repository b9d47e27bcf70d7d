#include "http/listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace server::http {

using net::ip::tcp;

std::string address_text(const std::string& host, unsigned short port) {
  return fmt::format("{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]", port);
}

listener::listener(net::io_context& context, const std::string& host, unsigned short port, int max_connections,
                   connection_limits limits, transport_factory wrap, request_handler handler, refusal refuse)
    : acceptor_(context),
      pause_(context),
      max_connections_(static_cast<std::size_t>(max_connections)),
      limits_(limits),
      wrap_(std::move(wrap)),
      handler_(std::move(handler)),
      refuse_(std::move(refuse)) {
  try {
    const tcp::endpoint at = *tcp::resolver(context).resolve(host, std::to_string(port), tcp::resolver::passive);
    acceptor_.open(at.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(at);
    acceptor_.listen();
  } catch (const boost::system::system_error& e) {
    throw std::runtime_error(fmt::format("cannot listen on {}: {}", address_text(host, port), e.code().message()));
  }
}

void listener::start() { net::co_spawn(acceptor_.get_executor(), accept(), net::detached); }

net::awaitable<void> listener::accept() {
  while (acceptor_.is_open()) {
    boost::system::error_code error;
    auto socket = co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
    if (!error && open_.size() < max_connections_) {
      serve(std::move(socket));
    } else if (error && error != net::error::operation_aborted) {  // out of descriptors, say: others will be closed
      pause_.expires_after(std::chrono::milliseconds(50));
      co_await pause_.async_wait(net::redirect_error(net::use_awaitable, error));
    }
  }
}

void listener::serve(tcp::socket socket) {
  auto one =
      std::make_shared<connection>(wrap_(std::move(socket)), acceptor_.get_executor(), limits_, handler_, refuse_);
  open_.insert(one);
  if (finishing_) one->finish();
  net::co_spawn(acceptor_.get_executor(), one->run(), [this, one](std::exception_ptr) { open_.erase(one); });
}

void listener::finish() {
  finishing_ = true;
  for (const auto& one : open_) one->finish();
}

bool listener::is_finished() const {
  return std::ranges::none_of(open_, [](const auto& one) { return one->is_awaited(); });
}

void listener::close() {
  acceptor_.close();
  for (const auto& one : std::vector(open_.begin(), open_.end())) one->close();
}

unsigned short listener::port() const { return acceptor_.local_endpoint().port(); }

}  // namespace server::http
