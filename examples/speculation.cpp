// An answer that repeats much of its prompt, in fewer steps than it has tokens: draft tokens are guessed from what came
// before, and verified while they are run. The tokens are the same.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/drafter.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

constexpr auto list =
    "Berlin is the capital of Germany.\nMadrid is the capital of Spain.\nRome is the capital of Italy.\n"
    "Vienna is the capital of Austria.\nWarsaw is the capital of Poland.\n\n";

//[speculation
asio::awaitable<cogen::completion> copy(cogen::engine& engine, std::shared_ptr<cogen::drafter> drafter) {
  auto stream = engine.generate({.prompt = std::string(list) + list + list + "Berlin is",
                                 .max_tokens = 80,
                                 .ignore_eos = true,
                                 .speculative = {.drafter = std::move(drafter)}});
  co_return co_await stream.async_complete();
}

asio::awaitable<void> run(cogen::engine& engine) {
  const auto plain = co_await copy(engine, nullptr);
  const auto steps = engine.stats().steps;
  const auto drafted = co_await copy(engine, cogen::prompt_lookup());
  fmt::print("{}{} tokens in {} steps, {}: {} of {} draft tokens were accepted\n", drafted.text,
             drafted.usage.generated_tokens, engine.stats().steps - steps,
             drafted.text == plain.text ? "the same as one by one" : "other ones than one by one",
             drafted.usage.accepted_draft_tokens, drafted.usage.draft_tokens);
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, run(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
