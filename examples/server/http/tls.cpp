#include "http/tls.hpp"

#include "http/client_socket.hpp"
#include "http/closed_peer.hpp"

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
  tls_transport(net::ip::tcp::socket socket, std::shared_ptr<ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  net::awaitable<void> handshake() override {
    co_await stream_.async_handshake(ssl::stream_base::server, net::use_awaitable);
  }

  net::awaitable<std::size_t> read_some(net::mutable_buffer into) override {
    boost::system::error_code error;
    const auto read = co_await stream_.async_read_some(into, net::redirect_error(net::use_awaitable, error));
    const bool closed = error == net::error::eof || error == ssl::error::stream_truncated;
    if (error && !closed) throw boost::system::system_error(error);
    co_return read;
  }

  net::awaitable<void> wait_closed() override { return async_wait_closed(stream_.next_layer()); }

  net::awaitable<void> write(net::const_buffer bytes) override {
    co_await net::async_write(stream_, bytes, net::use_awaitable);
  }

  net::awaitable<void> shutdown() override { co_await stream_.async_shutdown(net::use_awaitable); }

  void close() noexcept override {
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  std::shared_ptr<ssl::context> context_;
  ssl::stream<client_socket> stream_;
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
  return [context](net::ip::tcp::socket socket) { return std::make_unique<tls_transport>(std::move(socket), context); };
}

}  // namespace server::http
