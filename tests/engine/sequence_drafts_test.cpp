// Draft tokens of sequences: whatever is guessed, the tokens are those that are sampled one by one.
#include "kept_engines.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(sequence_drafts)

constexpr std::size_t drafted_tokens = 24;

std::vector<sampling_params> drafted_samplings() {
  return {{},
          {.temperature = 0.9, .seed = 3},
          {.temperature = 1.2,
           .top_p = 0.9,
           .repetition_penalty = 1.4,
           .presence_penalty = 0.5,
           .frequency_penalty = 0.3,
           .seed = 4},
          {.temperature = 0.8, .min_tokens = 7, .seed = 5, .logprobs = 2},
          {.temperature = 0.7, .seed = 6, .processor = [](auto history, auto scores) {
             scores[(static_cast<std::size_t>(history.back()) + history.size()) % scores.size()] += 3;
           }}};
}

/// What is sampled one by one.
net::awaitable<std::vector<token>> one_by_one(engine& running, const model& model, std::vector<token> prompt,
                                              const sampling_params& params) {
  auto alone = open(running, model);
  std::vector<token> tokens;
  for (; tokens.size() < drafted_tokens; prompt.clear())
    tokens.push_back((co_await alone.async_decode(prompt, params)).id);
  co_return tokens;
}

/// `most` tokens from `begin` on, one of which is wrong more often than not.
std::vector<token> some_drafts(std::span<const token> tokens, std::size_t begin, std::size_t most) {
  const auto rest = tokens.subspan(begin, std::min(most, tokens.size() - begin));
  std::vector<token> drafts(rest.begin(), rest.end());
  if (const auto index = begin * 7 % 9; index < drafts.size()) drafts[index] = (drafts[index] + 1) % 50;
  return drafts;
}

struct drafted_run {
  std::vector<token> tokens;
  int operations = 0;
};

net::awaitable<drafted_run> with_drafts(sequence& seq, std::vector<token> prompt, const sampling_params& params,
                                        const std::vector<token>& expected) {
  drafted_run run;
  for (; run.tokens.size() < drafted_tokens; prompt.clear(), ++run.operations) {
    const auto drafts = some_drafts(expected, run.tokens.size(), 5);
    for (const auto& each : co_await seq.async_decode_drafts(prompt, params, drafts)) {
      run.tokens.push_back(each.id);
      BOOST_TEST(each.top.size() == static_cast<std::size_t>(params.logprobs.value_or(0)));
    }
  }
  run.tokens.resize(drafted_tokens);
  co_return run;
}

BOOST_DATA_TEST_CASE(drafts_change_no_token_over_any_cache, data::make(kept_engines_everywhere()), each) {
  const auto model = each.model();
  auto options = each.options();
  options.kv.max_recurrent_drafts = std::min(5, options.kv.max_rollback_tokens);
  engine running(model, options);
  net::io_context context;
  auto beside = request{.prompt = some_tokens(*model, 9, 5), .max_tokens = 100, .ignore_eos = true};
  if (model->has_encoder()) beside.encoder_input = source_for(*model, 5);
  auto stream = running.generate(beside);
  stream.async_complete(net::bind_executor(context, [](error_code, const completion&) {}));
  const auto prompt = some_tokens(*model, 70, 4);
  auto samplings = drafted_samplings();
  if (each.kind != "plain" || each.golden != "llama_default") samplings = {samplings[2]};
  for (const auto& params : samplings)
    drive(running, [&]() -> net::awaitable<void> {
      const auto expected = co_await one_by_one(running, *model, prompt, params);
      auto seq = open(running, *model);
      const auto run = co_await with_drafts(seq, prompt, params, expected);
      BOOST_TEST(run.tokens == expected, boost::test_tools::per_element());
      const auto held = seq.tokens();
      BOOST_TEST(std::equal(expected.begin(), expected.end(), held.begin() + 70));
      const bool is_recurrent = each.golden == "mamba_tiny" || each.golden == "jamba_tiny";
      const bool rolls_back = each.kind != "without rollback limit" && !(is_recurrent && each.device == "reference");
      if (rolls_back) BOOST_TEST(run.operations < static_cast<int>(drafted_tokens) / 2);
    });
}

/// A row with drafts leaves a state after each of them; the one that counts is what it would be without drafts.
BOOST_DATA_TEST_CASE(drafts_change_no_token_of_a_hybrid, data::make(hybrids()), golden) {
  const auto model = golden_model(golden);
  auto options = tiny_engine(*model);
  options.kv.max_recurrent_drafts = 3;
  engine running(model, options);
  drive(running, [&]() -> net::awaitable<void> {
    const auto prompt = some_tokens(*model, 30, 4);
    const sampling_params params{.temperature = 1, .seed = 3};
    const auto expected = co_await one_by_one(running, *model, prompt, params);
    auto seq = open(running, *model), aside = open(running, *model);
    const auto run = co_await with_drafts(seq, prompt, params, expected);
    BOOST_TEST(run.tokens == expected, boost::test_tools::per_element());
    BOOST_TEST(run.operations < static_cast<int>(drafted_tokens) * 2 / 3);
    auto again = prompt;
    again.insert(again.end(), expected.begin(), expected.begin() + 9);
    const auto next = co_await aside.async_decode_drafts(again, params, {expected[9], (expected[10] + 1) % 50});
    for (std::size_t i = 0; i < next.size(); ++i) BOOST_TEST(next[i].id == expected[9 + i]);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
