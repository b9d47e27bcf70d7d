// How much of a long prompt has been read, while its client waits for the first token.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

//[long_prompt
asio::awaitable<void> summarize(cogen::engine& engine, std::string text) {
  auto question = cogen::chat(std::move(text) + "What was counted? Answer in a word.");
  auto stream = engine.generate({.prompt = std::move(question), .max_tokens = 12});
  while (const auto progress = co_await stream.async_prompt_progress())
    fmt::print("{} of {} tokens read\n", progress->processed, progress->total);
  while (const auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)), {.batching = {.max_batched_tokens = 128}});
  std::string text;
  for (int i = 1; i <= 60; ++i) text += fmt::format("{} sheep went by. ", i);
  asio::io_context context;
  asio::co_spawn(context, summarize(engine, std::move(text)), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
