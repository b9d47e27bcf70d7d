// Requests that draft with the model's own layer for multi-token prediction: the same tokens, from fewer steps where it
// is right, and what it predicts does not depend on how its sequence was run.
#include "../test_data.hpp"
#include "engine/parts/make_parts.hpp"
#include "even_clock.hpp"
#include "kept_engines.hpp"

#include <cogen/drafter.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(multi_token_prediction)

std::shared_ptr<const model> predicting_model(const std::string& golden) {
  static std::map<std::string, std::shared_ptr<const model>> loaded;
  auto& found = loaded[golden];
  if (!found) found = load_model(golden_folder(golden), {.threads = 1, .multi_token_prediction = true});
  return found;
}

const std::vector<std::string> recurrent{"qwen3_5_mtp", "qwen3_next_mtp"};
const std::vector<std::string> predicting{"deepseek_v3_mtp", "glm4_moe_mtp", "glm4_moe_mtp_right", "qwen3_5_mtp",
                                          "qwen3_next_mtp"};

struct predicting_engine {
  explicit predicting_engine(const std::shared_ptr<const model>& model, const engine_options& options)
      : running(parts_of(model, options), options) {}

  static engine_parts parts_of(const std::shared_ptr<const model>& model, const engine_options& options) {
    auto parts = detail::make_parts(model, options);
    parts.clock = std::make_shared<even_clock>();
    return parts;
  }

  engine running;
};

/// What the layer predicts after each token of a text but the last: of the token after the next.
std::vector<token> predictions_by_hand(const model& model, const engine_options& options,
                                       const std::vector<token>& text) {
  auto cache = cache_like(model, options);
  workspace run(1, options.compute_type.value_or(model.default_compute_type()));
  std::vector<token> predicted;
  const auto total = text.size() - 1;
  for (std::size_t begin = 0; begin < total; begin = predicted.size()) {
    const auto count = std::min<std::size_t>(5, total - begin);
    const auto tokens = std::span(text).subspan(begin, count + 1);
    const cache::step step({{.slot = 0, .count = static_cast<int>(count)}});
    std::vector<int> indices(count);
    for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<int>(i);
    const auto logits = model.forward({.step = step, .tokens = tokens.first(count), .outputs = {}}, cache, run,
                                      [&](const matrix_view&) {
                                        return next_tokens{tokens.subspan(1), indices};
                                      });
    for (std::int64_t i = 0; i < logits.rows; ++i)
      predicted.push_back(static_cast<token>(std::ranges::max_element(logits[i]) - logits[i].begin()));
  }
  return predicted;
}

/// Notes what was predicted, and drafts what it is made for.
class noting final : public drafter {
 public:
  enum class mode { nothing, predicted, wrong };
  struct note {
    std::vector<token> history;
    std::vector<token> predicted;
  };

  explicit noting(mode drafts) : drafts_(drafts) {}

  bool reads_predictions() const noexcept override { return true; }
  std::vector<token> draft(std::span<const token>, int) override { return {}; }
  std::vector<token> draft(std::span<const token> history, std::span<const token> predicted, int) override {
    notes.push_back({{history.begin(), history.end()}, {predicted.begin(), predicted.end()}});
    if (drafts_ == mode::wrong) return {(history.back() * 7 + 1) % 90, 5};
    return drafts_ == mode::predicted ? notes.back().predicted : std::vector<token>();
  }

  std::vector<note> notes;

 private:
  mode drafts_;
};

std::ostream& operator<<(std::ostream& out, noting::mode drafts) { return out << static_cast<int>(drafts); }

struct answer {
  std::vector<token> tokens;
  cogen::usage usage;
  std::string error;

  friend bool operator==(const answer& a, const answer& b) { return a.tokens == b.tokens && a.error == b.error; }
};

net::awaitable<void> read_by_turns(std::span<token_stream> streams, std::vector<answer>& results) {
  std::size_t open = streams.size();
  std::vector<bool> ended(streams.size());
  while (open > 0)
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (ended[i]) continue;
      const auto [code, piece] = co_await streams[i].async_next(net::as_tuple(net::use_awaitable));
      if (code || !piece) {
        ended[i] = true;
        --open;
        results[i].error = code ? streams[i].error().message() : "";
        results[i].usage = streams[i].usage();
        continue;
      }
      for (const auto& each : piece->tokens) results[i].tokens.push_back(each.id);
    }
}

/// The answers to all requests, read a token of each by turns.
std::vector<answer> answers(engine& running, const std::vector<request>& asked) {
  std::vector<answer> results(asked.size());
  std::vector<token_stream> streams;
  for (const auto& each : asked) streams.push_back(running.generate(each));
  drive(running, [&] { return read_by_turns(streams, results); });
  return results;
}

constexpr int answer_tokens = 30;

std::vector<request> some_requests(const model& model, const std::shared_ptr<drafter>& proposer, int prompt = 11) {
  std::vector<request> requests;
  const std::vector<sampling_params> samplings{
      {}, {.temperature = 1, .seed = 1}, {.temperature = 2, .repetition_penalty = 1.2, .seed = 2}};
  for (const auto& params : samplings)
    requests.push_back({.prompt = some_tokens(model, prompt, static_cast<unsigned>(requests.size())),
                        .max_tokens = answer_tokens,
                        .sampling = params,
                        .ignore_eos = true,
                        .max_buffered_tokens = 3,
                        .speculative = {.drafter = proposer}});
  return requests;
}

/// What the drafter was told is what the layer predicts when the same text is run at once.
void check_notes(const noting& noted, const model& model, const engine_options& options, std::size_t least) {
  BOOST_TEST(noted.notes.size() >= least);
  for (const auto& each : noted.notes) {
    BOOST_TEST_REQUIRE(each.predicted.size() == 1u);
    BOOST_TEST(each.predicted.back() == predictions_by_hand(model, options, each.history).back());
  }
}

struct setting {
  std::string name;
  std::function<void(engine_options&)> change;
  friend std::ostream& operator<<(std::ostream& out, const setting& entry) { return out << entry.name; }
};

const std::vector<setting> settings{
    {"as it is", [](engine_options&) {}},
    {"in chunks of one", [](engine_options& options) { options.batching.max_batched_tokens = 1; }},
    {"in chunks of three", [](engine_options& options) { options.batching.max_batched_tokens = 3; }},
    {"swapped",
     [](engine_options& options) {
       options.batching.slots = 1;
       options.policies.idle_timeout = std::chrono::milliseconds(0);
     }},
    {"computed again",
     [](engine_options& options) {
       options.batching.slots = 1;
       options.policies.idle_timeout = std::chrono::milliseconds(0);
       options.swap.bytes = 0;
     }},
    {"quantized", quantized(cache::int8())},
    {"fast products", [](engine_options& options) { options.compute_type = compute_type::int8; }},
};

BOOST_DATA_TEST_CASE(no_prediction_changes_a_token, data::make(predicting) * data::make(settings), golden, how) {
  auto options = tiny_engine();
  how.change(options);
  predicting_engine plain(golden_model(golden), options), drafting(predicting_model(golden), options);
  const auto& model = *golden_model(golden);
  const auto expected = answers(plain.running, some_requests(model, nullptr));
  BOOST_TEST((answers(drafting.running, some_requests(model, nullptr)) == expected));
  BOOST_TEST((answers(drafting.running, some_requests(model, mtp())) == expected));
  for (const auto& each : expected) BOOST_TEST(each.tokens.size() == std::size_t{answer_tokens});
}

BOOST_DATA_TEST_CASE(predictions_do_not_depend_on_how_a_sequence_was_run,
                     data::make(predicting) * data::make(settings) *
                         data::make({noting::mode::nothing, noting::mode::predicted, noting::mode::wrong}),
                     golden, how, drafts) {
  auto options = tiny_engine();
  how.change(options);
  const auto model = predicting_model(golden);
  predicting_engine engine(model, options);
  const auto noted = std::make_shared<noting>(drafts);
  answers(engine.running, some_requests(*model, noted));
  check_notes(*noted, *model, options, drafts == noting::mode::predicted ? 10 : 2 * answer_tokens);
  if (how.name == "swapped") BOOST_TEST(engine.running.stats().swapped_out > 0u);
}

/// The next token of a shared prefix's last one is the same for both.
BOOST_DATA_TEST_CASE(prefixes_are_shared_with_what_was_predicted_from, data::make(predicting), golden) {
  const auto options = tiny_engine();
  const auto model = predicting_model(golden);
  predicting_engine engine(model, options);
  answers(engine.running, some_requests(*model, nullptr, 130));
  const auto noted = std::make_shared<noting>(noting::mode::predicted);
  const auto again = answers(engine.running, some_requests(*model, noted, 130));
  for (const auto& each : again) BOOST_TEST(each.usage.cached_tokens >= 64);
  check_notes(*noted, *model, options, 10);
}

BOOST_AUTO_TEST_CASE(several_streams_of_a_prompt_draft_with_what_it_left) {
  const auto options = tiny_engine();
  const auto model = predicting_model("glm4_moe_mtp");
  predicting_engine plain(golden_model("glm4_moe_mtp"), options), engine(model, options);
  const auto said = [&](cogen::engine& running, std::shared_ptr<drafter> proposer) {
    auto streams = running.generate_n({.prompt = some_tokens(*model, 70, 3),
                                       .max_tokens = answer_tokens,
                                       .sampling = {.temperature = 1, .seed = 9},
                                       .ignore_eos = true,
                                       .speculative = {.drafter = std::move(proposer)}},
                                      3);
    std::vector<answer> results(streams.size());
    drive(running, [&] { return read_by_turns({streams.begin(), streams.end()}, results); });
    return results;
  };
  BOOST_TEST((said(engine.running, mtp()) == said(plain.running, nullptr)));
}

BOOST_AUTO_TEST_CASE(right_predictions_save_steps_and_are_counted) {
  const auto model = predicting_model("glm4_moe_mtp_right");
  predicting_engine engine(model, tiny_engine());
  auto asked = some_requests(*model, mtp())[0];
  asked.max_buffered_tokens = 16;
  const auto received = answers(engine.running, {asked})[0];
  BOOST_TEST(received.usage.draft_tokens >= 14);
  BOOST_TEST(received.usage.accepted_draft_tokens == received.usage.draft_tokens);
  BOOST_TEST(received.usage.generated_tokens == answer_tokens);
  BOOST_TEST(engine.running.stats().steps <= 1u + answer_tokens / 2 + 1);
}

BOOST_DATA_TEST_CASE(recurrent_layers_run_a_draft_in_a_step, data::make(recurrent), golden) {
  predicting_engine drafting(predicting_model(golden), tiny_engine());
  auto asked = some_requests(*predicting_model(golden), mtp());
  for (auto& each : asked) each.max_buffered_tokens = 16;
  for (const auto& each : answers(drafting.running, asked)) BOOST_TEST(each.usage.draft_tokens >= answer_tokens / 2);
}

BOOST_DATA_TEST_CASE(without_a_state_for_them_recurrent_layers_run_no_drafts, data::make(recurrent), golden) {
  auto options = tiny_engine();
  options.kv.max_recurrent_drafts = 0;
  predicting_engine plain(golden_model(golden), options), drafting(predicting_model(golden), options);
  const auto expected = answers(plain.running, some_requests(*golden_model(golden), nullptr));
  const auto received = answers(drafting.running, some_requests(*golden_model(golden), mtp()));
  BOOST_TEST((received == expected));
  for (const auto& each : received) BOOST_TEST(each.usage.draft_tokens == 0);
}

BOOST_AUTO_TEST_CASE(a_model_without_the_layer_refuses_the_request_alone) {
  predicting_engine engine(golden_model("glm4_moe_mtp"), tiny_engine());
  const auto& model = *golden_model("glm4_moe_mtp");
  auto asked = some_requests(model, mtp());
  asked[1].speculative.drafter = nullptr;
  const auto received = answers(engine.running, asked);
  BOOST_TEST(received[0].error ==
             "the drafter reads predictions, as mtp() does, and the model was loaded without "
             "load_options.multi_token_prediction");
  BOOST_TEST(received[1].error.empty());
  BOOST_TEST(received[1].tokens.size() == std::size_t{answer_tokens});
}

template <class Error>
std::string refusal(const std::string& golden, const load_options& options) {
  try {
    load_model(golden_folder(golden), options);
  } catch (const Error& e) {
    return e.what();
  }
  return "loaded";
}

BOOST_AUTO_TEST_CASE(loading_refuses_what_cannot_predict) {
  BOOST_TEST(refusal<std::invalid_argument>("llama_default", {.multi_token_prediction = true}) ==
             "load_options.multi_token_prediction is set; this llama model has no layer for it");
  BOOST_TEST(refusal<std::invalid_argument>("glm4_moe_mtp", {.device = "reference", .multi_token_prediction = true}) ==
             "load_options.multi_token_prediction is set; it runs on the CPU, not on reference yet");
  const auto missing = refusal<std::runtime_error>("kimi_k2_published", {.multi_token_prediction = true});
  BOOST_TEST(missing.find("model.layers.2.") != std::string::npos, missing);
}

BOOST_AUTO_TEST_CASE(the_layer_takes_memory_where_it_is_wanted) {
  const auto name = golden_folder("glm4_moe_mtp");
  const engine_options options{.limits = {.max_sequence_length = 64}};
  const auto without = estimate_memory(name, options),
             with = estimate_memory(name, options, {.multi_token_prediction = true});
  BOOST_TEST(with.weight_bytes > without.weight_bytes);
  BOOST_TEST(with.slot_bytes * 2 == without.slot_bytes * 3);  // two layers, or three
  BOOST_TEST(predicting_model("glm4_moe_mtp")->weight_bytes() > golden_model("glm4_moe_mtp")->weight_bytes());
  BOOST_TEST(predicting_model("glm4_moe_mtp")->fingerprint() != golden_model("glm4_moe_mtp")->fingerprint());
}

BOOST_AUTO_TEST_CASE(a_forward_with_next_tokens_is_for_models_that_predict) {
  const auto& model = *golden_model("glm4_moe_mtp");
  auto cache = cache_like(model, tiny_engine());
  workspace run(1);
  const std::vector<token> tokens{1, 2, 3};
  const batch batch{.step = cache::step({{.slot = 0, .count = 3}}), .tokens = tokens, .outputs = {}};
  BOOST_CHECK_THROW(model.forward(batch, cache, run,
                                  [&](const matrix_view&) {
                                    return next_tokens{tokens, {}};
                                  }),
                    std::logic_error);
  const auto& larger_model = *predicting_model("glm4_moe_mtp");
  auto larger = cache_like(larger_model, tiny_engine());
  const auto with = [&](std::vector<token> next) {
    larger_model.forward(batch, larger, run, [&](const matrix_view&) { return next_tokens{next, {}}; });
  };
  BOOST_CHECK_THROW(with({1, 2}), std::invalid_argument);
  BOOST_CHECK_THROW(with({1, 2, 98}), std::out_of_range);
  BOOST_TEST(larger.length(0) == 0);
  with({1, 2, 97});
  BOOST_TEST(larger.length(0) == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
