// Log-probabilities of prompts beside those of Transformers, and several streams that run a prompt once, on models.
#include "golden/golden.hpp"
#include "kept_engines.hpp"
#include "test_data.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(prompt_logprobs)

/// Full attention, windows, recurrent states beside attention, and an encoder.
const std::vector<std::string> models{"llama_default", "gemma2_published", "qwen3_next_published", "mamba2_published",
                                      "bart_tiny"};
constexpr std::ptrdiff_t alternatives = 5;

/// The natural logarithm of the probabilities that belong to logits, by definition.
std::vector<double> log_softmax(const std::vector<float>& logits) {
  const double largest = *std::ranges::max_element(logits);
  double total = 0;
  for (const float each : logits) total += std::exp(each - largest);
  std::vector<double> result;
  for (const float each : logits) result.push_back(each - largest - std::log(total));
  return result;
}

request scored(const golden::reference_prompt& prompt) {
  request wanted{.prompt = token_ids(prompt.ids),
                 .max_tokens = 1,
                 .ignore_eos = true,
                 .prompt_logprobs = static_cast<int>(alternatives)};
  if (!prompt.source.empty()) wanted.encoder_input = token_ids(prompt.source);
  return wanted;
}

std::vector<std::vector<sampled_token>> report(engine& running, const golden::golden& reference) {
  net::io_context context;
  std::vector<token_stream> streams;
  for (const auto& each : reference.prompts) {
    streams.push_back(running.generate(scored(each)));
    streams.back().async_complete(net::bind_executor(context, [](error_code code, const completion& whole) {
      BOOST_TEST(!code);
      BOOST_TEST(whole.usage.cached_tokens == 0);
    }));
  }
  settle(running, context);
  std::vector<std::vector<sampled_token>> reported;
  for (const auto& each : streams) reported.push_back(each.prompt_logprobs());
  return reported;
}

void compare(const std::vector<sampled_token>& reported, const golden::reference_prompt& prompt) {
  constexpr double tolerance = 4e-4;  // twice that of golden_check for a logit
  BOOST_REQUIRE_EQUAL(reported.size(), prompt.ids.size());
  for (std::size_t i = 1; i < reported.size(); ++i) {
    const auto expected = log_softmax(prompt.prompt_rows[i - 1].logits);
    const auto logprob = [&](token id) { return expected[static_cast<std::size_t>(id)]; };
    BOOST_TEST(reported[i].id == prompt.ids[i]);
    BOOST_TEST(std::abs(reported[i].logprob - logprob(prompt.ids[i])) < tolerance);
    auto best = expected;
    std::ranges::sort(best, std::greater<>());
    BOOST_REQUIRE_EQUAL(std::ssize(reported[i].top), alternatives);
    for (std::size_t k = 0; k < reported[i].top.size(); ++k) {
      BOOST_TEST(std::abs(reported[i].top[k].logprob - logprob(reported[i].top[k].id)) < tolerance);
      BOOST_TEST(std::abs(reported[i].top[k].logprob - best[k]) < tolerance);
    }
  }
}

bool same_bits(const std::vector<sampled_token>& a, const std::vector<sampled_token>& b) {
  const auto same = [](const token_logprob& x, const token_logprob& y) {
    return x.id == y.id && x.logprob == y.logprob;
  };
  return std::ranges::equal(a, b, [&](const sampled_token& x, const sampled_token& y) {
    return x.id == y.id && x.logprob == y.logprob && std::ranges::equal(x.top, y.top, same);
  });
}

/// On the CPU the size of chunks makes no difference to the bits; anywhere, what is cached makes none.
BOOST_DATA_TEST_CASE(are_those_of_transformers_in_chunks_of_any_size, data::make(models) * data::make(devices), name,
                     device) {
  const auto reference = golden::read_folder(golden_folder(name));
  std::vector<std::vector<sampled_token>> first;
  for (const int chunk : {64, 16, 7, 1}) {
    auto options = tiny_engine(*golden_model(name));
    options.batching.max_batched_tokens = chunk;
    engine running(golden_model(name, device), options);
    for (int round = 0; round < 2; ++round) {
      const auto reported = report(running, reference);
      for (std::size_t i = 0; i < reported.size(); ++i) {
        if (first.size() <= i) first.push_back(reported[i]);
        compare(reported[i], reference.prompts[i]);
        if (device != "cpu") continue;  // whose bits depend on the tokens of a chunk
        BOOST_TEST(same_bits(reported[i], first[i]), "prompt " << i << " in chunks of " << chunk);
      }
    }
  }
}

BOOST_DATA_TEST_CASE(several_streams_run_their_prompt_once, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  if (model->has_encoder()) return;  // beside encoder inputs nothing is shared
  constexpr int n = 3, answer = 4;
  for (const int length : {11, 90}) {
    engine running(each.model(), each.options());
    const auto prompt = some_tokens(*model, length, 9);
    net::io_context context;
    auto streams = running.generate_n({.prompt = token_ids(prompt), .max_tokens = answer, .ignore_eos = true}, n);
    std::vector<std::vector<token>> said(n);
    for (std::size_t i = 0; i < n; ++i)
      streams[i].async_complete(net::bind_executor(context, [&said, i](error_code code, const completion& whole) {
        BOOST_TEST(!code);
        for (const auto& token : whole.tokens) said[i].push_back(token.id);
      }));
    settle(running, context);
    const auto expected = loop_by_hand(*model, each.options(), prompt, answer);
    for (const auto& tokens : said) BOOST_TEST(tokens == expected, boost::test_tools::per_element());
    BOOST_TEST(running.stats().tokens == static_cast<std::uint64_t>(length - 1 + n * answer), each << ", " << length);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
