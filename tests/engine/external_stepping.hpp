#pragma once

#include <cogen/engine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <vector>

namespace cogen::test {

inline std::vector<token> joined(std::vector<token> front, const std::vector<token>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

/// Rounds of an externally stepped engine until there is nothing left to do; `context`'s handlers in between.
inline void settle(engine& running, net::io_context& context) {
  int idle = 0;
  while (idle < 3) {
    const bool stepped = running.poll_one();
    context.restart();
    idle = context.poll() > 0 || stepped ? 0 : idle + 1;
  }
}

/// Runs a coroutine to its end on an externally stepped engine.
template <class Body>
void drive(engine& running, Body body) {
  net::io_context context;
  bool finished = false;
  net::co_spawn(
      context,
      [&]() -> net::awaitable<void> {
        co_await body();
        finished = true;
      },
      [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
  settle(running, context);
  BOOST_TEST(finished);
}

}  // namespace cogen::test
