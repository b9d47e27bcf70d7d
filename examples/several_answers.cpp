// Several answers to one question, whose prompt is run once, and how likely the model finds a text.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

namespace asio = boost::asio;

//[several_answers
asio::awaitable<void> invent(cogen::engine& engine) {
  auto group = engine.generate_n({.prompt = cogen::chat("Invent a name for a tea shop. Answer with the name only."),
                                  .max_tokens = 20,
                                  .sampling = {.temperature = 1.0, .top_p = 0.95, .seed = 7}},
                                 4);
  std::vector<std::string> names(group.size());
  while (auto next = co_await group.async_next()) names[next->index] += next->piece.text;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto usage = group[i].usage();
    fmt::print("{} [{} of {} prompt tokens were shared]\n", names[i], usage.cached_tokens, usage.prompt_tokens);
  }
}
//]

//[perplexity
/// Of a text by itself: the lower, the less it surprises the model.
asio::awaitable<double> perplexity(cogen::engine& engine, std::string text) {
  auto stream = engine.generate({.prompt = std::move(text), .max_tokens = 1, .prompt_logprobs = 0});
  co_await stream.async_complete();
  const auto tokens = stream.prompt_logprobs();
  double sum = 0;
  for (const auto& each : tokens) sum += each.logprob;
  co_return std::exp(-sum / static_cast<double>(tokens.size() - 1));  // nothing comes before the first
}
//]

asio::awaitable<void> run(cogen::engine& engine) {
  co_await invent(engine);
  const double usual = co_await perplexity(engine, "The capital of France is Paris.");
  const double unusual = co_await perplexity(engine, "The capital of France is porridge.");
  fmt::print("Paris surprises {} than porridge: {:.1f}, {:.1f}\n", usual < unusual ? "less" : "more", usual, unusual);
}

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, run(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
