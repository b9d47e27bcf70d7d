// A decoding strategy of one's own is a coroutine over a sequence: here the answer is forced to be one of three words,
// and the probability of each is computed on forks that share the prompt.
#include "model_path.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/core.h>

#include <cmath>

namespace asio = boost::asio;

double log_probability(std::span<const float> scores, cogen::token id) {
  double sum = 0;
  for (const float each : scores) sum += std::exp(static_cast<double>(each));
  return scores[static_cast<std::size_t>(id)] - std::log(sum);
}

//[own_loop
asio::awaitable<void> classify(cogen::engine& engine, const cogen::model& model, std::string review) {
  const auto& tokenizer = model.tokenizer();
  auto prompt = engine.open();
  const auto after_prompt = co_await prompt.async_forward(tokenizer.encode("Review: " + review + "\nThe review is"));
  for (const std::string word : {" good", " bad", " mixed"}) {
    const auto tokens = tokenizer.encode(word);
    auto branch = prompt.fork();  // shares the prompt's cache
    const auto scores = co_await branch.async_forward(tokens, cogen::logits_of::all);
    double total = log_probability(after_prompt.last(), tokens[0]);
    for (std::size_t i = 1; i < tokens.size(); ++i)
      total += log_probability(scores[static_cast<int>(i) - 1], tokens[i]);
    fmt::print("{:>6}: {:.4f}\n", word, std::exp(total));
  }
}
//]

int main(int argc, char** argv) try {
  const auto model = cogen::load_model(example::model_path(argc, argv));
  cogen::engine engine(model);
  // On the engine's own executor the loop is resumed between two steps, with no hop between threads.
  auto done =
      asio::co_spawn(engine.get_executor(), classify(engine, *model, "I loved every minute of it."), asio::use_future);
  done.get();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
