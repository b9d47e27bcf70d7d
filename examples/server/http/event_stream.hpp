#pragma once

#include "http/exchange.hpp"

#include <string_view>

namespace server::http {

/// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as an answer.
class event_stream {
 public:
  explicit event_stream(exchange& client) : client_(client) {}

  /// An event whose data is one line. Without a name, clients take it for a "message".
  net::awaitable<void> send(std::string_view data, std::string_view name = {});
  net::awaitable<void> ping();  ///< a comment, so that nothing on the way takes the connection for dead
  net::awaitable<void> end();

 private:
  net::awaitable<void> begin();

  exchange& client_;
  bool begun_ = false;
};

}  // namespace server::http
