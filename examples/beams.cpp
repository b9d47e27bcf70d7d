// Decoding strategies of the library: a beam search, the best of several samples, and guidance by a second prompt. Each
// gives streams like those of a single request, and runs in the same batch.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/decoding/beam_search.hpp>
#include <cogen/decoding/best_of.hpp>
#include <cogen/decoding/guidance.hpp>
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace asio = boost::asio;

const std::string beginning = "My favourite season is";

//[beams
asio::awaitable<void> search(cogen::engine& engine) {
  auto group = engine.generate({.prompt = beginning, .max_tokens = 12},
                               cogen::beam_search({.num_beams = 4, .num_return_sequences = 2}));
  for (auto& each : group) {
    const auto found = co_await each.async_complete();
    fmt::print("{:.3f}{}\n", *each.score(), found.text);
  }
}
//]

//[best_of
asio::awaitable<void> choose(cogen::engine& engine) {
  auto stream = engine.generate({.prompt = cogen::chat("Invent a name for a tea shop. Answer with the name only."),
                                 .max_tokens = 20,
                                 .sampling = {.temperature = 1.0, .seed = 7}},
                                cogen::best_of({.n = 8}));
  const auto best = co_await stream.async_complete();
  fmt::print("the best of 8: {}\n", best.text);
}
//]

//[guidance
asio::awaitable<void> guide(cogen::engine& engine) {
  auto stream = engine.generate({.prompt = beginning, .max_tokens = 12}, cogen::guidance({.guidance_scale = 1.5}));
  fmt::print("guided:");
  while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}
//]

//[own_strategy
/// Samples `n` answers, one after the other, and gives the one that comes most often.
cogen::strategy majority(int n) {
  return {.run = [n](cogen::strategy_input input, cogen::strategy_output& output) -> asio::awaitable<void> {
    std::map<std::vector<cogen::token>, int> votes;
    auto root = input.open(static_cast<int>(input.prompt.size()) + input.max_tokens);
    co_await root.async_forward(input.prompt);
    for (int i = 0; i < n; ++i) {
      std::vector<cogen::token> answer;
      for (auto branch = root.fork(); std::ssize(answer) < input.max_tokens;) {
        const auto next = co_await branch.async_decode({}, input.request.sampling);
        if (std::ranges::find(input.end_tokens, next.id) != input.end_tokens.end()) break;
        answer.push_back(next.id);
      }
      ++votes[answer];
    }
    const auto by_votes = [](const auto& entry) { return entry.second; };
    for (const auto id : std::ranges::max_element(votes, {}, by_votes)->first) output.write({.id = id});
    output.finish(cogen::finish_reason::eos);
  }};
}
//]

asio::awaitable<void> vote(cogen::engine& engine) {
  auto stream = engine.generate(
      {.prompt = "The capital of France is", .max_tokens = 1, .sampling = {.temperature = 1, .seed = 1}}, majority(9));
  fmt::print("most often: {}\n", (co_await stream.async_complete()).text);
}

asio::awaitable<void> run(cogen::engine& engine) {
  co_await search(engine);
  co_await choose(engine);
  co_await guide(engine);
  co_await vote(engine);
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
