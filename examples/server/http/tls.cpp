#include "http/tls.hpp"

#include "http/closed_peer.hpp"
#include "http/handshake_socket.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace server::http {
namespace {

namespace ssl = net::ssl;

class tls_transport final : public transport {
 public:
  tls_transport(net::ip::tcp::socket socket, std::shared_ptr<ssl::context> context,
                std::shared_ptr<handshake_turns> turns, std::string network)
      : context_(std::move(context)),
        socket_(std::move(socket), std::move(turns), std::move(network)),
        stream_(socket_, *context_) {}

  net::awaitable<void> handshake() override {
    co_await stream_.async_handshake(ssl::stream_base::server, net::use_awaitable);
    socket_.end_handshake();
  }

  net::awaitable<std::size_t> read_some(net::mutable_buffer buffer) override {
    boost::system::error_code error;
    const auto read = co_await stream_.async_read_some(buffer, net::redirect_error(net::use_awaitable, error));
    const bool closed = error == net::error::eof || error == ssl::error::stream_truncated;
    if (error && !closed) throw boost::system::system_error(error);
    co_return read;
  }

  net::awaitable<void> wait_closed() override { return async_wait_closed(socket_); }

  net::awaitable<void> write(net::const_buffer bytes) override {
    co_await net::async_write(stream_, bytes, net::use_awaitable);
  }

  net::awaitable<void> shutdown() override { co_await stream_.async_shutdown(net::use_awaitable); }

  void close() noexcept override { socket_.close(); }

 private:
  std::shared_ptr<ssl::context> context_;
  handshake_socket socket_;
  ssl::stream<handshake_socket&> stream_;
};

void require_usable(const boost::system::error_code& error, std::string_view flag, const std::filesystem::path& file) {
  if (error)
    throw std::invalid_argument(
        fmt::format("--{} is {}, which cannot be used: {}", flag, file.string(), error.message()));
}

}  // namespace

transport_factory tls(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  boost::system::error_code error;
  context->use_certificate_chain_file(certificate.string(), error);
  require_usable(error, "tls-cert", certificate);
  context->use_private_key_file(key.string(), ssl::context::pem, error);
  require_usable(error, "tls-key", key);
  return [context, turns = std::make_shared<handshake_turns>()](net::ip::tcp::socket socket, std::string network) {
    return std::make_unique<tls_transport>(std::move(socket), context, turns, std::move(network));
  };
}

}  // namespace server::http
