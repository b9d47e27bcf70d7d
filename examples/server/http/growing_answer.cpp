#include "http/growing_answer.hpp"

#include <utility>

namespace server::http {

net::awaitable<void> growing_answer::flush() {
  if (client_.status() == 0) co_await client_.begin({});
  co_await client_.write(text_);
  text_.clear();
}

net::awaitable<void> growing_answer::end() {
  if (client_.status() == 0) {
    response whole{.body = std::move(text_)};
    co_await client_.respond(std::move(whole));
  } else {
    co_await flush();
    co_await client_.end();
  }
}

}  // namespace server::http
