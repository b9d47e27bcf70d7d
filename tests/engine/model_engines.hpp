#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

/// A tiny golden model; the same object each time.
std::shared_ptr<const model> golden_model(const std::string& name);

/// Tokens of the model's vocabulary, the same for the same seed.
std::vector<token> some_tokens(const model& model, int count, unsigned seed);

std::vector<token> joined(std::vector<token> front, const std::vector<token>& back);

/// Options that tests begin with: driven by hand, float32, one thread, small steps and little slack.
engine_options tiny_engine();

/// A cache of one slot that is kept as such an engine keeps its own.
cache::cache cache_like(const model& model, const engine_options& options);

/// The logits after the last token, in a cache of its own.
std::vector<float> logits_after(const model& model, const engine_options& options, const std::vector<token>& tokens);

/// The greedy continuation by a loop of model.forward() with nobody else around.
std::vector<token> loop_by_hand(const model& model, const engine_options& options, const std::vector<token>& prompt,
                                int count);

/// Rounds of an engine driven by hand until there is nothing left to do; `context`'s handlers in between.
void settle(engine& running, net::io_context& context);

/// Runs a coroutine to its end on an engine driven by hand.
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
