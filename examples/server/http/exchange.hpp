#pragma once

#include "http/request.hpp"
#include "http/response.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace server::http {

namespace net = boost::asio;

/// One request, whose header has come, and its answer. Writing throws boost::system::system_error if the client is
/// gone, and body_error if there is too much that it has not read; while the answer is made, a client that goes away
/// cancels the coroutine that makes it. A connection ends after an answer that is made before the body has come.
class exchange {
 public:
  virtual ~exchange() = default;
  virtual const http::request& request() const = 0;
  /// Whose bytes count together: clients of its network, or those that the owner is set for.
  virtual const std::string& owner() const = 0;
  virtual void set_owner(std::string name) = 0;
  /// The whole body, of limited length, which counts as its owner's until the answer begins. Waits until there is room
  /// for it. Throws body_error if it is malformed, or if there is no room in time.
  virtual net::awaitable<std::string> read_whole_body() = 0;
  /// Takes at least one byte of a body of any length, and returns how many; 0: there are no more, because it has ended,
  /// or its client has gone, or it is malformed.
  virtual net::awaitable<std::size_t> read_body(net::mutable_buffer buffer) = 0;
  virtual net::awaitable<void> respond(response answer) = 0;         ///< answers at once and whole, or with 503
  virtual net::awaitable<void> begin(response head) = 0;             ///< begins an answer that comes in parts
  virtual net::awaitable<void> write(std::string_view bytes) = 0;    ///< a part of it
  virtual net::awaitable<void> end() = 0;                            ///< there are no more parts
  virtual void add_header(std::string name, std::string value) = 0;  ///< to the answer that is still to begin
  virtual int status() const = 0;                                    ///< of the answer; 0: nothing was answered yet
};

}  // namespace server::http
