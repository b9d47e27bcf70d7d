// Many requests at once on one thread: each is a coroutine, all share one batch.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

//[many
asio::awaitable<void> describe(cogen::engine& engine, std::string animal) {
  auto question = cogen::chat("Describe the " + animal + " in one sentence.");
  auto stream = engine.generate({.prompt = std::move(question), .max_tokens = 40});
  const auto answer = co_await stream.async_complete();
  fmt::print("{}: {} [{} tokens]\n", animal, answer.text, answer.usage.generated_tokens);
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)), {.batching = {.slots = 8}});
  asio::io_context context;
  for (const auto* animal : {"otter", "owl", "whale", "bee", "fox", "heron", "lynx", "newt"})
    asio::co_spawn(context, describe(engine, animal), example::rethrow);
  context.run();
  const auto stats = engine.stats();
  fmt::print("{} steps, mean batch {:.1f}\n", stats.steps,
             static_cast<double>(stats.rows) / static_cast<double>(stats.steps));
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
