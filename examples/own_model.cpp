// A model of one's own that owns its memory, in the engine's batch: no weights, no tensors, only a runner. It says what
// came next where the text's end stood before, and so goes on with whatever rhymes with itself.
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/extend/runner.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;

namespace {

//[own_model
/// The longest earlier match of the text's end decides, and of those the newest. Tokens are bytes.
class echo final : public cogen::runner {
 public:
  int vocabulary() const override { return 256; }

  void launch(cogen::step& step) override {
    for (const int slot : step.clears) held_[slot].clear();
    for (const auto& cut : step.truncations) held_[cut.slot].resize(cut.length);
    for (const auto& cut : step.releases) held_[cut.slot].resize(cut.length);
    for (const auto& fork : step.forks) held_[fork.slot] = held_[fork.source].substr(0, fork.end);
    for (std::size_t i = 0; i < step.rows.size(); ++i) {
      auto& text = held_[step.rows[i].slot];
      for (const auto token : step.tokens_of(step.rows[i])) text += static_cast<char>(token);
      if (step.rows[i].wanted != cogen::scheduler::output::sample) continue;
      auto scores = scores_after(text);
      step.sample(i, scores);
    }
    step.done();
  }

 private:
  static std::vector<float> scores_after(std::string_view text) {
    std::vector<float> scores(256, -1);
    for (std::size_t next = 1; next < text.size(); ++next) {
      const auto [end, other_end] = std::mismatch(text.rbegin(), text.rend(), text.rend() - next, text.rend());
      auto& score = scores[static_cast<unsigned char>(text[next])];
      score = std::max(score, static_cast<float>(end - text.rbegin()) + static_cast<float>(next) / 1e6f);
    }
    return scores;
  }

  std::map<int, std::string> held_;  // by slot
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
