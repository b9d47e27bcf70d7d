#pragma once

#include "http/connection.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace server::http {

/// A host and a port as URLs have them.
std::string address_text(const std::string& host, unsigned short port);

/// Wraps a socket that was accepted: into bytes as they are, or into TLS. The text: the client's network.
using transport_factory = std::function<std::unique_ptr<transport>(net::ip::tcp::socket, std::string)>;

/// How many connections are served at the same time.
struct listener_limits {
  std::size_t connections = 4096;
  std::size_t connections_per_address = 1024;  ///< of an IPv4 address, or of an IPv6 network of 64 bits
};

/// Accepts clients and serves each in a coroutine. Clients beyond the limits get status 503 for their first request, as
/// long as they are not too many, too. For the thread that runs the context.
class listener {
 public:
  static constexpr std::size_t max_refused = 64;  ///< connections that are refused at the same time; others are closed
  static constexpr int max_at_once = 64;          ///< connections that are accepted before others may go on

  /// Binds. Throws std::runtime_error naming the address and why it cannot be had.
  listener(net::io_context& context, const std::string& host, unsigned short port, listener_limits limits,
           transport_factory wrap, service served);

  void start();   ///< begins to accept
  void finish();  ///< ends each connection, also those to come, after one answer: the one that has begun, if any
  void close();   ///< ends all connections at once

  unsigned short port() const;
  bool is_finished() const;  ///< after finish(): all answers that had begun by then have ended

 private:
  net::awaitable<void> accept();
  void admit_waiting();
  void admit(net::ip::tcp::socket socket);
  void refuse(net::ip::tcp::socket socket, std::string network);
  void serve(net::ip::tcp::socket socket, const service& shared, std::string network, std::function<void()> ended);

  net::ip::tcp::acceptor acceptor_;
  net::steady_timer pause_;
  listener_limits limits_;
  transport_factory wrap_;
  service served_;
  service refused_;
  std::set<std::shared_ptr<connection>> open_;
  std::map<net::ip::address, std::size_t> admitted_;  // connections of each network
  std::size_t admitted_count_ = 0, refused_count_ = 0;
  bool finishing_ = false;
};

}  // namespace server::http
