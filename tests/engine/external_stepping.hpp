#pragma once

#include <cogen/engine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <new>
#include <vector>

namespace cogen::test {

inline std::vector<token> joined(std::vector<token> front, const std::vector<token>& back) {
  front.insert(front.end(), back.begin(), back.end());
  return front;
}

inline std::vector<token> ids_of(const std::vector<sampled_token>& choices) {
  std::vector<token> ids;
  for (const auto& each : choices) ids.push_back(each.id);
  return ids;
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

/// One round, in which memory may be refused, also to a coroutine on the engine's executor.
inline void poll_short_of_memory(engine& running, net::io_context& context) {
  try {
    running.poll_one();
  } catch (const std::bad_alloc&) {
  }
  context.restart();
  context.poll();
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
