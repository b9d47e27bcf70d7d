// Three attempts race; the first to finish wins, and the others leave the batch at once.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

//[first
asio::awaitable<std::string> attempt(cogen::engine& engine, std::uint64_t seed) {
  auto stream = engine.generate({.prompt = cogen::chat("Invent a name for a tea shop. Answer with the name only."),
                                 .max_tokens = 60,
                                 .sampling = {.temperature = 1.0, .top_p = 0.95, .seed = seed}});
  const auto answer = co_await stream.async_complete();
  co_return answer.text;
}

asio::awaitable<void> race(cogen::engine& engine) {
  using namespace asio::experimental::awaitable_operators;
  const auto first = co_await (attempt(engine, 1) || attempt(engine, 2) || attempt(engine, 3));
  fmt::print("attempt {} won: {}\n", first.index() + 1, std::visit([](const auto& text) { return text; }, first));

  co_await asio::post(engine.get_executor(), asio::use_awaitable);  // a moment between two steps
  fmt::print("{} of 16 slots free\n", engine.stats().free_slots);
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, race(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
