// Steps of few tokens replay graphs, in which each token is a row of its own.
#include "../engine/even_clock.hpp"
#include "../engine/model_engines.hpp"
#include "device_models.hpp"
#include "engine/parts/make_parts.hpp"
#include "plain_backend.hpp"

#include <cogen/drafter.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

/// An engine on a device that counts what it replays.
struct replaying_engine {
  replaying_engine(const std::string& name, engine_options (*change)(engine_options) = nullptr) {
    where->page = 4096;
    where->recorded_row = 16;
    where->hook = [this](std::string_view operation) { replays += operation == "replay" ? 1 : 0; };
    auto options = tiny_engine(*model_on(name));
    options.kv.dtype.reset();
    options.batching.max_batched_tokens = 64;
    if (change) options = change(options);
    auto parts = detail::make_parts(model, options);
    parts.clock = std::make_shared<even_clock>();
    running.emplace(std::move(parts), options);
  }

  std::shared_ptr<const cogen::model> model_on(const std::string& name) { return model = golden_model_on(where, name); }

  const std::shared_ptr<plain_backend> where = std::make_shared<plain_backend>();
  int replays = 0;
  std::shared_ptr<const cogen::model> model;
  std::optional<engine> running;
};

void check_near(std::span<const float> found, std::span<const float> expected) {
  BOOST_REQUIRE_EQUAL(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    BOOST_TEST(std::abs(found[i] - expected[i]) < 1e-3F, "token " << i << ": " << found[i] << ", not " << expected[i]);
}

/// How many steps of the calls replayed a graph.
int replays_of_pieces(const std::string& name, const std::vector<int>& pieces) {
  replaying_engine setup(name);
  const auto reference = golden_model(name);
  int count = 0;
  drive(*setup.running, [&]() -> net::awaitable<void> {
    auto sequence = open(*setup.running, *setup.model);
    std::vector<token> held;
    for (const int piece : pieces) {
      const auto next = some_tokens(*reference, piece, static_cast<unsigned>(held.size()) + 1);
      held.insert(held.end(), next.begin(), next.end());
      const int previous = setup.replays;
      const auto output = co_await sequence.async_forward(next, logits_of::all);
      count += setup.replays - previous;
      BOOST_REQUIRE_EQUAL(output.rows(), piece);
      for (const int row : {0, piece / 2, piece - 1})
        check_near(output[row],
                   logits_after(*reference, tiny_engine(*reference), {held.begin(), held.end() - piece + row + 1}));
    }
  });
  return count;
}

BOOST_AUTO_TEST_SUITE(device_recorded_rows)

BOOST_DATA_TEST_CASE(rows_of_up_to_16_tokens_replay_graphs,
                     data::make({"llama_default", "mistral_window", "gemma3_published", "deepseek_v2_lite",
                                 "t5_published", "mixtral_published"}),
                     name) {
  BOOST_TEST(replays_of_pieces(name, {5, 16, 2, 1, 9}) == 5);
  BOOST_TEST(replays_of_pieces(name, {17, 3, 20}) == 1);
}

BOOST_DATA_TEST_CASE(states_are_updated_token_by_token, data::make({"mamba_tiny", "qwen3_5_typed", "lfm2_published"}),
                     name) {
  BOOST_TEST(replays_of_pieces(name, {5, 16, 2, 9}) == 1);  // the last token of the first, before which a state is kept
}

// More than there are graphs for.
BOOST_AUTO_TEST_CASE(steps_of_too_many_tokens_are_not_replayed) {
  replaying_engine few("llama_default", [](engine_options options) {
    options.batching.slots = 2;
    options.batching.max_batched_tokens = 8;
    return options;
  });
  drive(*few.running, [&]() -> net::awaitable<void> {
    auto sequence = open(*few.running, *few.model);
    co_await sequence.async_forward(some_tokens(*few.model, 8, 1));
    BOOST_TEST(few.replays == 1);
    co_await sequence.async_forward(some_tokens(*few.model, 11, 2));  // 8, then 3
    BOOST_TEST(few.replays == 3);
  });
}

/// Drafts what the processor generates, but for each fifth token.
class half_right final : public drafter {
 public:
  explicit half_right(std::vector<token> whole) : whole_(std::move(whole)) {}

  using drafter::draft;
  std::vector<token> draft(std::span<const token> history, int most) override {
    std::vector<token> drafts;
    for (auto position = history.size(); most > 0 && position < whole_.size(); --most, ++position)
      drafts.push_back(position % 5 == 0 ? 0 : whole_[position]);
    return drafts;
  }

 private:
  const std::vector<token> whole_;
};

// Samples of a row with drafts stand beside those of rows without.
BOOST_AUTO_TEST_CASE(drafts_are_sampled_by_replayed_steps) {
  replaying_engine setup("llama_default");
  const auto reference = golden_model("llama_default");
  const auto options = tiny_engine(*reference);
  std::vector<token> prompts[2] = {some_tokens(*reference, 9, 1), some_tokens(*reference, 7, 2)};
  std::vector<token> expected[2], received[2];
  for (int i = 0; i < 2; ++i) expected[i] = loop_by_hand(*reference, options, prompts[i], 60);
  auto whole = prompts[0];
  whole.insert(whole.end(), expected[0].begin(), expected[0].end());
  net::io_context context;
  std::vector<token_stream> streams;
  for (int i = 0; i < 2; ++i) {
    request wanted{.prompt = token_ids(prompts[i]), .max_tokens = 60, .ignore_eos = true};
    if (i == 0) wanted.speculative.drafter = std::make_shared<half_right>(whole);
    streams.push_back(setup.running->generate(std::move(wanted)));
    streams.back().async_complete(
        net::bind_executor(context, [&received, i](error_code code, const completion& result) {
          BOOST_TEST(!code);
          for (const auto& each : result.tokens) received[i].push_back(each.id);
        }));
  }
  settle(*setup.running, context);
  BOOST_TEST(received[0] == expected[0], boost::test_tools::per_element());
  BOOST_TEST(received[1] == expected[1], boost::test_tools::per_element());
  BOOST_TEST(setup.running->stats().accepted_draft_tokens > 20U);
  BOOST_TEST(setup.replays >= 60);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
