#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace server::http {

namespace net = boost::asio;

class handshake_turn;

/// Lets one handshake go on in each pass of the event loop, as it may make a signature, which takes milliseconds: all
/// that is ready runs between two. Networks take turns, and each lets the connection go first that came first. For one
/// thread.
class handshake_turns : public std::enable_shared_from_this<handshake_turns> {
 public:
  static constexpr int max_ended = 64;  ///< connections of clients that have left which end in a pass

 private:
  friend class handshake_turn;
  using place = std::pair<std::string, std::uint64_t>;  // a network, and how many connections had come before

  void add(handshake_turn& waiting);
  void remove(const handshake_turn& waiting) noexcept;
  void call(const net::any_io_executor& executor);
  void go_on();
  handshake_turn& take_next();

  std::map<place, handshake_turn*> waiting_;
  std::string last_;  // network whose turn it was
  std::uint64_t count_ = 0;
  bool called_ = false;
};

/// What a connection waits for in its handshake, before it reads.
class handshake_turn {
 public:
  /// `socket` must outlive it.
  handshake_turn(std::shared_ptr<handshake_turns> turns, net::ip::tcp::socket& socket, std::string network);
  handshake_turn(const handshake_turn&) = delete;
  handshake_turn& operator=(const handshake_turn&) = delete;

  /// Returns once there is something to read, and it is the connection's turn. Throws boost::system::system_error if it
  /// is cancelled, and if the client has closed its side before it was answered, as no handshake can succeed then.
  net::awaitable<void> async_wait();

  void cancel() noexcept;
  void note_answer() noexcept { answered_ = true; }

 private:
  friend class handshake_turns;
  class waiter;

  bool is_over() const noexcept;

  const std::shared_ptr<handshake_turns> turns_;
  net::ip::tcp::socket& socket_;
  const handshake_turns::place place_;
  net::steady_timer wake_;
  bool has_come_ = false;
  bool answered_ = false;
};

}  // namespace server::http
