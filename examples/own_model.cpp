// A model of one's own that owns its memory, in the engine's batch: no weights, no tensors, only a runner. It says what
// came next where the text's end stood before, and so goes on with whatever rhymes with itself.
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace asio = boost::asio;

namespace {

//[own_model
using score_list = std::array<float, 256>;  // of the bytes, which are the tokens

/// The longest earlier match of the text's end decides, and of those the newest.
score_list& score_next(std::string_view text, score_list& scores) {
  scores.fill(-1);
  for (std::size_t next = 1; next < text.size(); ++next) {
    const auto [end, other_end] = std::mismatch(text.rbegin(), text.rend(), text.rend() - next, text.rend());
    auto& score = scores[static_cast<unsigned char>(text[next])];
    score = std::max(score, static_cast<float>(end - text.rbegin()) + static_cast<float>(next) / 1e6f);
  }
  return scores;
}

struct echo final : cogen::runner {
  std::map<int, std::string> held;  // by slot
  score_list scores = {};

  int vocabulary() const override { return 256; }

  void launch(cogen::step& step) override {
    for (const int slot : step.clears) held[slot].clear();
    for (const auto& cut : step.truncations) held[cut.slot].resize(cut.length);
    for (const auto& cut : step.releases) held[cut.slot].resize(cut.length);
    for (const auto& fork : step.forks) held[fork.slot] = held[fork.source].substr(0, fork.end);
    for (std::size_t i = 0; i < step.rows.size(); ++i) {
      auto& text = held[step.rows[i].slot];
      for (const auto token : step.tokens_of(step.rows[i])) text += static_cast<char>(token);
      if (step.rows[i].wanted == cogen::scheduler::output::sample) step.sample(i, score_next(text, scores));
    }
    step.done();
  }
};
//]

asio::awaitable<void> go_on(cogen::engine& engine, std::string text) {
  auto stream = engine.generate({.prompt = cogen::token_ids{text.begin(), text.end()}, .max_tokens = 40});
  const auto whole = co_await stream.async_complete();
  std::string said;
  for (const auto& token : whole.tokens) said += static_cast<char>(token.id);
  fmt::print("{}|{}\n", text, said);
}

}  // namespace

int main() try {
  cogen::engine_parts parts;
  parts.runner = std::make_unique<echo>();
  parts.limits.slots = 4;
  cogen::engine engine(std::move(parts));
  asio::io_context context;
  for (const auto* text : {"one potato, two potato, three potato, four, five pot", "do re mi fa sol la ti do re",
                           "The cat sat on the mat. The dog sat on the log. The c", "tick tock tick"})
    asio::co_spawn(context, go_on(engine, text), example::rethrow);
  context.run();
  const auto stats = engine.stats();
  fmt::print("mean batch {:.1f}\n", static_cast<double>(stats.rows) / static_cast<double>(stats.steps));
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
