// Log-probabilities of the distribution that tokens are sampled from, against a naive computation of it.
#include "rows.hpp"
#include "sampling/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace cogen;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Token by token, as the parameters are described: probabilities in order of ids, 0 for those that are not kept.
std::vector<double> naive_distribution(const std::vector<float>& logits, const sampling_params& params) {
  std::vector<double> scores(logits.begin(), logits.end());
  for (const auto& [id, bias] : params.logit_bias) scores[static_cast<std::size_t>(id)] += bias;
  for (double& each : scores) each /= params.temperature;
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  if (params.top_k > 0) {
    const double smallest = scores[order[static_cast<std::size_t>(params.top_k) - 1]];
    for (double& each : scores)
      if (each < smallest) each = -infinity;
  }
  const auto normalized = [&] {
    double total = 0;
    for (const double each : scores) total += std::exp(each);
    std::vector<double> result;
    for (const double each : scores) result.push_back(std::exp(each) / total);
    return result;
  };
  double prefix = 0;
  const auto probabilities = normalized();
  for (const auto id : order) {
    if (prefix >= params.top_p) scores[id] = -infinity;
    prefix += probabilities[id];
  }
  const auto left = normalized();
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (left[i] < params.min_p * left[order[0]]) scores[i] = -infinity;
  return normalized();
}

sampled sample(sampling_params params, std::vector<float> logits, std::uint32_t number, token_mask mask = {}) {
  token_history history;
  sampling_scratch scratch;
  const sampler source(std::move(params), static_cast<std::int64_t>(logits.size()));
  return source.sample(logits, history, {7, 0, number, 0}, scratch, mask);
}

std::vector<sampling_params> kinds() {
  return {{.temperature = 1},
          {.temperature = 0.3},
          {.temperature = 2.5, .top_k = 12},
          {.temperature = 0.8, .top_p = 0.9},
          {.temperature = 1.2, .min_p = 0.05},
          {.temperature = 1, .top_k = 40, .top_p = 0.95, .min_p = 0.02, .logit_bias = {{3, 4}, {5, -infinity}}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_processed)

BOOST_AUTO_TEST_CASE(processed_log_probabilities_are_of_what_is_sampled_from) {
  for (auto params : kinds())
    for (std::uint32_t number = 0; number < 20; ++number) {
      const auto logits = some_logits(300, number);
      const auto expected = naive_distribution(logits, params);
      const auto without = sample(params, logits, number);
      params.logprobs = 128, params.logprobs_mode = logprobs_mode::processed;
      const auto found = sample(params, logits, number);
      BOOST_TEST(found.id == without.id);
      BOOST_TEST(std::abs(std::exp(found.logprob) - expected[static_cast<std::size_t>(found.id)]) < 1e-5);
      const auto kept = std::ranges::count_if(expected, [](double probability) { return probability > 0; });
      BOOST_TEST(std::ssize(found.top) == std::min<std::ptrdiff_t>(128, kept));
      for (const auto& each : found.top)
        BOOST_TEST(std::abs(std::exp(each.logprob) - expected[static_cast<std::size_t>(each.id)]) < 1e-5);
      BOOST_TEST(std::ranges::is_sorted(found.top, std::greater<>(), &token_logprob::logprob));
    }
}

BOOST_AUTO_TEST_CASE(all_kept_tokens_together_are_certain) {
  double total = 0;
  for (const auto& each :
       sample(
           {.temperature = 1, .top_k = 40, .top_p = 0.95, .logprobs = 128, .logprobs_mode = logprobs_mode::processed},
           some_logits(5000, 1), 1)
           .top)
    total += std::exp(each.logprob);
  BOOST_TEST(std::abs(total - 1) < 1e-5);
}

BOOST_AUTO_TEST_CASE(equal_tokens_come_by_rising_id_and_impossible_ones_do_not) {
  std::vector<float> logits(200, -std::numeric_limits<float>::infinity());
  for (const std::size_t i : {150, 3, 70}) logits[i] = 2;
  const sampling_params params{.temperature = 1, .logprobs = 5, .logprobs_mode = logprobs_mode::processed};
  const auto found = sample(params, logits, 0);
  BOOST_REQUIRE(found.top.size() == 3U);
  BOOST_TEST(found.top[0].id == 3);
  BOOST_TEST(found.top[1].id == 70);
  BOOST_TEST(found.top[2].id == 150);
  BOOST_TEST(std::abs(found.logprob + std::log(3.0)) < 1e-6);
  auto alone = params;
  alone.logprobs = 0;
  BOOST_TEST(sample(alone, logits, 0).top.empty());
  BOOST_TEST(std::abs(sample(alone, logits, 0).logprob + std::log(3.0)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(a_token_without_an_alternative_is_certain) {
  const auto logits = some_logits(70, 4);
  const std::vector<std::uint64_t> only{0, 4};
  const sampling_params params{.logprobs = 5, .logprobs_mode = logprobs_mode::processed};
  auto random = params;
  random.temperature = 1;
  for (const auto& found : {sample(params, logits, 1), sample(random, logits, 1, only)}) {
    BOOST_TEST(found.logprob == 0);
    BOOST_REQUIRE(found.top.size() == 1U);
    BOOST_TEST(found.top[0].id == found.id);
    BOOST_TEST(found.top[0].logprob == 0);
  }
  auto alone = params;
  alone.logprobs = 0;
  BOOST_TEST(sample(alone, logits, 1).top.empty());
}

BOOST_AUTO_TEST_CASE(a_mask_leaves_the_probabilities_of_what_it_allows) {
  auto logits = some_logits(64, 5);
  const std::vector<std::uint64_t> mask{0x00ff'0000'00f0'0001};
  const sampling_params params{.temperature = 1, .logprobs = 64, .logprobs_mode = logprobs_mode::processed};
  const auto found = sample(params, logits, 3, mask);
  for (std::size_t id = 0; id < 64; ++id)
    if ((mask[0] >> id & 1) == 0) logits[id] = -std::numeric_limits<float>::infinity();
  const auto expected = naive_distribution(logits, params);
  BOOST_TEST(found.top.size() == 13U);
  for (const auto& each : found.top)
    BOOST_TEST(std::abs(std::exp(each.logprob) - expected[static_cast<std::size_t>(each.id)]) < 1e-5);
}

BOOST_AUTO_TEST_SUITE_END()
