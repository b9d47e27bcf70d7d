#include "http/event_stream.hpp"

#include <fmt/format.h>

#include <utility>

namespace server::http {

net::awaitable<void> event_stream::begin() {
  if (std::exchange(begun_, true)) co_return;
  response head{.type = "text/event-stream; charset=utf-8"};
  head.headers.emplace_back("Cache-Control", "no-cache");
  head.headers.emplace_back("X-Accel-Buffering", "no");
  co_await client_.begin(std::move(head));
}

net::awaitable<void> event_stream::send(std::string_view data, std::string_view name) {
  co_await begin();
  const auto event =
      name.empty() ? fmt::format("data: {}\n\n", data) : fmt::format("event: {}\ndata: {}\n\n", name, data);
  co_await client_.write(event);
}

net::awaitable<void> event_stream::ping() {
  co_await begin();
  co_await client_.write(": ping\n\n");
}

net::awaitable<void> event_stream::end() {
  co_await begin();
  co_await client_.end();
}

}  // namespace server::http
