#pragma once

#include "http/connection.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace server::http {

/// A host and a port as URLs have them.
std::string address_text(const std::string& host, unsigned short port);

/// Wraps a socket that was accepted: into bytes as they are, or into TLS.
using transport_factory = std::function<std::unique_ptr<transport>(net::ip::tcp::socket)>;

/// Accepts clients and serves each in a coroutine. For the thread that runs the context.
class listener {
 public:
  /// Binds. Throws std::runtime_error naming the address and why it cannot be had.
  listener(net::io_context& context, const std::string& host, unsigned short port, int max_connections,
           connection_limits limits, transport_factory wrap, request_handler handler, refusal refuse);

  void start();   ///< begins to accept
  void finish();  ///< ends each connection, also those to come, after one answer: the one that has begun, if any
  void close();   ///< ends all connections at once

  unsigned short port() const;
  bool is_finished() const;  ///< after finish(): all answers that had begun by then have ended

 private:
  net::awaitable<void> accept();
  void serve(net::ip::tcp::socket socket);

  net::ip::tcp::acceptor acceptor_;
  net::steady_timer pause_;
  std::size_t max_connections_;
  connection_limits limits_;
  transport_factory wrap_;
  request_handler handler_;
  refusal refuse_;
  std::set<std::shared_ptr<connection>> open_;
  bool finishing_ = false;
};

}  // namespace server::http
