#include "../thread_group.hpp"
#include "rows.hpp"
#include "sampling/inverse_distribution.hpp"
#include "sampling/random_stream.hpp"
#include "sampling/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

using namespace cogen;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

sampled sample(const sampler& source, std::vector<float> logits, const sampling_key& key, token_history history = {}) {
  sampling_scratch scratch;
  return source.sample(logits, history, key, scratch);
}

std::vector<token_probability> distribution(const sampler& source, std::vector<float> logits,
                                            token_history history = {}) {
  sampling_scratch scratch;
  return source.distribution(logits, history, scratch).second;
}

token_history history_of(std::vector<token> given, std::vector<token> generated) {
  token_history history;
  history.append_given(given);
  for (const token id : generated) history.append_generated(id);
  return history;
}

std::vector<sampling_params> kinds_of_sampling() {
  return {sampling_params{},
          sampling_params{.temperature = 1},
          sampling_params{.temperature = 3},
          sampling_params{.temperature = 1.5, .top_k = 20},
          sampling_params{.temperature = 1.5, .top_p = 0.9},
          sampling_params{.temperature = 2, .min_p = 0.02},
          sampling_params{.temperature = 1,
                          .top_k = 50,
                          .top_p = 0.9,
                          .min_p = 0.05,
                          .repetition_penalty = 1.3,
                          .presence_penalty = 0.5}};
}

/// Pearson's statistic of `draws` samples against the distribution.
double chi_square(const sampler& source, const std::vector<float>& logits, std::uint64_t seed, std::uint32_t samples) {
  const auto expected = distribution(source, logits);
  std::vector<double> observed(logits.size());
  for (std::uint32_t i = 0; i < samples; ++i)
    observed[static_cast<std::size_t>(sample(source, logits, {seed, 0, i, 0}).id)] += 1;
  double sum = 0;
  double seen = 0;
  for (const auto& each : expected) {
    const double count = observed[static_cast<std::size_t>(each.id)];
    const double mean = each.probability * samples;
    sum += (count - mean) * (count - mean) / mean;
    seen += count;
  }
  BOOST_TEST(seen == samples);
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_sample)

BOOST_AUTO_TEST_CASE(greedy_takes_the_lowest_id_among_the_largest) {
  auto logits = some_logits(1000, 1);
  logits[70] = logits[130] = logits[999] = 50;
  BOOST_TEST(sample(sampler(sampling_params{}, 1000), logits, {}).id == 70);
  BOOST_TEST(sample(sampler(sampling_params{.temperature = 1, .top_p = 0}, 1000), logits, {8}).id == 70);
  logits[999] = 51;
  BOOST_TEST(sample(sampler(sampling_params{}, 1000), logits, {}).id == 999);
  BOOST_TEST(sample(sampler(sampling_params{.temperature = 1, .top_k = 1}, 1000), logits, {8}).id == 999);
}

BOOST_AUTO_TEST_CASE(the_sample_is_the_first_token_whose_cumulative_probability_exceeds_the_random_number) {
  for (const std::size_t vocabulary : {5, 64, 1000})
    for (const auto& parameters : kinds_of_sampling()) {
      const sampler source(parameters, std::ssize(some_logits(vocabulary, 3)));
      const auto logits = some_logits(vocabulary, 3);
      const auto kept = distribution(source, logits);
      for (std::uint32_t position = 0; position < 200; ++position) {
        const sampling_key key{11, 2, position, 0};
        const token chosen = sample(source, logits, key).id;
        double prefix = 0;
        std::size_t i = 0;
        while (kept[i].id != chosen) prefix += kept[i++].probability;
        BOOST_REQUIRE_LE(prefix, uniform(key) + 1e-9);
        BOOST_REQUIRE_GT(prefix + kept[i].probability, uniform(key) - 1e-9);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_random_number_on_a_boundary_chooses_the_token_that_begins_there) {
  std::vector<float> weights(200, 0);
  weights[3] = weights[70] = 1;
  weights[130] = 2;
  std::vector<candidate> candidates;
  for (token id = 0; id < 200; ++id) candidates.push_back({id, 0, weights[static_cast<std::size_t>(id)]});
  const std::vector<double> block_sums{1, 1, 2, 0};
  const std::vector<std::pair<double, token>> expected{
      {0, 3},  {0x1p-53, 3}, {0.25 - 0x1p-53, 3}, {0.25, 70}, {0.5 - 0x1p-53, 70}, {0.5, 130}, {1 - 0x1p-53, 130},
      {1, 130}};
  for (const auto& [u, id] : expected) {
    BOOST_TEST(choose(candidates, u) == id);
    BOOST_TEST(choose(weights, block_sums, 4, u) == id);
  }
}

BOOST_AUTO_TEST_CASE(a_list_of_any_length_is_searched_as_one_by_one) {
  for (const std::size_t count : {1, 2, 63, 64, 65, 129, 1000, 20011}) {
    std::vector<candidate> candidates;
    for (std::size_t i = 0; i < count; ++i)
      candidates.push_back({static_cast<token>(3 * i), 0, static_cast<float>((i * 7 + count) % 5)});
    candidates.front().weight = 1;  // whole numbers, so that every sum is exact
    double total = 0;
    for (const auto& each : candidates) total += each.weight;
    for (std::uint32_t sample = 0; sample < 300; ++sample) {
      const double u = uniform({count, 0, 0, sample});
      double through = 0;
      const auto expected = std::ranges::find_if(
          candidates, [&](const candidate& entry) { return (through += entry.weight) > u * total; });
      BOOST_TEST(choose(candidates, u) == expected->id);
    }
  }
}

// The seeds are fixed, so the statistic is a constant; each limit is the 99.9th percentile of its chi-square
// distribution.
BOOST_AUTO_TEST_CASE(many_samples_follow_the_distribution) {
  const auto logits = some_logits(16, 21, 1);
  BOOST_TEST(chi_square(sampler(sampling_params{.temperature = 1}, 16), logits, 3, 20000) < 37.7);
  BOOST_TEST(chi_square(sampler(sampling_params{.temperature = 2.5}, 16), logits, 4, 20000) < 37.7);
  BOOST_TEST(chi_square(sampler(sampling_params{.temperature = 1, .top_k = 6}, 16), logits, 5, 20000) < 20.6);
}

BOOST_AUTO_TEST_CASE(other_rows_and_order_in_a_batch_change_no_token) {
  constexpr std::size_t rows = 24;
  const auto kinds = kinds_of_sampling();
  const auto run = [&](std::vector<std::size_t> order) {
    sampling_scratch shared;
    std::vector<token> tokens(rows);
    for (const std::size_t row : order) {
      auto logits = some_logits(300 + 50 * row, row);
      const sampler source(kinds[row % kinds.size()], std::ssize(logits));
      auto history = history_of({1, 2, 3}, {4, 5});
      tokens[row] = source.sample(logits, history, {row, 0, 5, 0}, shared).id;
    }
    return tokens;
  };
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  const auto forward = run(order);
  std::reverse(order.begin(), order.end());
  BOOST_TEST(run(order) == forward, boost::test_tools::per_element());
  std::rotate(order.begin(), order.begin() + 7, order.end());
  BOOST_TEST(run(order) == forward, boost::test_tools::per_element());
  for (std::size_t row = 0; row < rows; ++row) BOOST_TEST(run({row})[row] == forward[row]);
}

BOOST_AUTO_TEST_CASE(one_sampler_serves_many_threads) {
  const auto logits = some_logits(3000, 8);
  const sampler source(sampling_params{.temperature = 1, .top_p = 0.95, .logprobs = 3}, 3000);
  const auto tokens = [&] {
    std::vector<token> chosen;
    for (std::uint32_t i = 0; i < 50; ++i) chosen.push_back(sample(source, logits, {1, 0, i, 0}).id);
    return chosen;
  };
  const auto alone = tokens();
  std::vector<std::vector<token>> together(4);
  {
    cogen::test::thread_group threads;
    for (auto& chosen : together) threads.start([&] { chosen = tokens(); });
  }
  for (const auto& chosen : together) BOOST_TEST(chosen == alone, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fork_samples_other_tokens_and_a_copy_the_same) {
  const auto logits = some_logits(2000, 9);
  const sampler source(sampling_params{.temperature = 3}, 2000);
  random_stream parent(5);
  const random_stream copy = parent;
  const random_stream fork = parent.fork();
  int same = 0;
  for (std::uint32_t position = 0; position < 50; ++position) {
    const token expected = sample(source, logits, parent.key(position)).id;
    BOOST_TEST(sample(source, logits, copy.key(position)).id == expected);
    same += sample(source, logits, fork.key(position)).id == expected ? 1 : 0;
  }
  BOOST_TEST(same < 10);
}

BOOST_AUTO_TEST_CASE(a_sequence_cut_back_samples_the_same_token_again) {
  const auto logits = some_logits(500, 10);
  const sampler source(sampling_params{.temperature = 2, .repetition_penalty = 1.4, .frequency_penalty = 0.3}, 500);
  auto history = history_of({3, 4}, {});
  const random_stream stream(6);
  std::vector<token> first;
  const auto generate = [&](std::size_t length) {
    sampling_scratch scratch;
    while (history.length() < length) {
      auto row = logits;
      const auto key = stream.key(static_cast<std::uint32_t>(history.length()));
      history.append_generated(source.sample(row, history, key, scratch).id);
    }
    return std::vector<token>(history.tokens().begin(), history.tokens().end());
  };
  const auto once = generate(40);
  history.truncate(11);
  BOOST_TEST(generate(40) == once, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_bad_logit_anywhere_is_a_status) {
  for (const float bad : {not_a_number, -not_a_number, infinity})
    for (const std::size_t index : {0, 15, 16, 63, 64, 127, 129})
      for (const auto& parameters : kinds_of_sampling()) {
        auto logits = some_logits(130, 1);
        logits[index] = bad;
        const auto result = sample(sampler(parameters, 130), logits, {});
        BOOST_TEST((result.status == sampling_status::not_finite));
        BOOST_TEST(!result.message.empty());
      }
}

BOOST_AUTO_TEST_CASE(a_row_with_no_possible_token_is_a_status) {
  for (const auto& parameters : kinds_of_sampling()) {
    const auto result = sample(sampler(parameters, 100), std::vector<float>(100, -infinity), {});
    BOOST_TEST((result.status == sampling_status::nothing_left));
    BOOST_TEST(!result.message.empty());
  }
  auto bans = sampling_params{.temperature = 1};
  for (token id = 0; id < 10; ++id) bans.logit_bias[id] = -infinity;
  BOOST_TEST((sample(sampler(bans, 10), some_logits(10, 1), {}).status == sampling_status::nothing_left));
}

BOOST_AUTO_TEST_CASE(the_only_possible_token_is_sampled_wherever_it_is) {
  for (const auto& parameters : kinds_of_sampling())
    for (const token only : {0, 1, 63, 64, 129}) {
      std::vector<float> logits(130, -infinity);
      logits[static_cast<std::size_t>(only)] = -1e30F;
      BOOST_TEST(sample(sampler(parameters, 130), logits, {1, 2, 3, 4}).id == only);
    }
}

BOOST_AUTO_TEST_CASE(end_tokens_wait_for_min_tokens) {
  auto logits = some_logits(50, 2);
  logits[7] = logits[9] = 100;
  const std::vector<token> end_tokens{7, 9, 4000, -1};
  const sampler source(sampling_params{.min_tokens = 2}, 50, end_tokens);
  const token early = sample(source, logits, {}, history_of({7, 7, 7, 7}, {1})).id;
  BOOST_TEST(early != 7);
  BOOST_TEST(early != 9);
  BOOST_TEST(sample(source, logits, {}, history_of({1}, {1, 2})).id == 7);
}

BOOST_AUTO_TEST_CASE(count_penalties_see_what_was_generated_and_repetition_sees_the_prompt_too) {
  std::vector<float> logits(10, 0);
  logits[1] = 8;
  logits[2] = 7;
  const auto prompt_only = history_of({1, 1}, {});
  const auto generated = history_of({}, {1, 1});
  BOOST_TEST(sample(sampler(sampling_params{.presence_penalty = 3}, 10), logits, {}, prompt_only).id == 1);
  BOOST_TEST(sample(sampler(sampling_params{.presence_penalty = 3}, 10), logits, {}, generated).id == 2);
  BOOST_TEST(sample(sampler(sampling_params{.frequency_penalty = 0.6}, 10), logits, {}, generated).id == 2);
  BOOST_TEST(sample(sampler(sampling_params{.frequency_penalty = 0.4}, 10), logits, {}, generated).id == 1);
  BOOST_TEST(sample(sampler(sampling_params{.repetition_penalty = 1.2}, 10), logits, {}, prompt_only).id == 2);
}

BOOST_AUTO_TEST_CASE(tokens_the_model_cannot_produce_are_no_trouble_in_a_history) {
  const sampler source(sampling_params{.repetition_penalty = 2, .presence_penalty = 1}, 10);
  const auto result =
      sample(source, some_logits(10, 3), {}, history_of({-1, 10, 1 << 30}, {-2147483647 - 1, 2147483647}));
  BOOST_TEST((result.status == sampling_status::ok));
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_the_models_own) {
  const auto logits = some_logits(300, 12);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  auto ranks = logits;
  std::sort(ranks.rbegin(), ranks.rend());
  const sampler source(
      sampling_params{.temperature = 0.2, .top_k = 3, .repetition_penalty = 3, .logit_bias = {{5, 40}}, .logprobs = 8},
      300);
  const auto result = sample(source, logits, {}, history_of({1, 2, 3}, {4}));
  BOOST_TEST(result.id == 5);
  BOOST_TEST(std::abs(result.logprob - (logits[5] - std::log(total))) < 1e-5);
  BOOST_REQUIRE(result.top.size() == 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    BOOST_TEST(logits[static_cast<std::size_t>(result.top[i].id)] == ranks[i]);
    BOOST_TEST(std::abs(result.top[i].logprob - (ranks[i] - std::log(total))) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(logprobs_name_equal_tokens_by_rising_id_and_no_more_than_are_possible) {
  std::vector<float> logits(200, -infinity);
  for (const std::size_t i : {150, 3, 70}) logits[i] = 2;
  const auto result = sample(sampler(sampling_params{.logprobs = 128}, 200), logits, {});
  BOOST_REQUIRE(result.top.size() == 3U);
  BOOST_TEST(result.top[0].id == 3);
  BOOST_TEST(result.top[1].id == 70);
  BOOST_TEST(result.top[2].id == 150);
  BOOST_TEST(std::abs(result.logprob + std::log(3.0)) < 1e-6);
  BOOST_TEST(sample(sampler(sampling_params{.logprobs = 0}, 200), logits, {}).top.empty());
}

BOOST_AUTO_TEST_CASE(a_callers_processor_sees_history_and_processed_logits_and_has_its_way) {
  std::vector<token> seen;
  float biased = 0;
  const auto only_four = [&](std::span<const token> history, std::span<float> logits) {
    seen.assign(history.begin(), history.end());
    biased = logits[2];
    std::fill(logits.begin(), logits.end(), -infinity);
    logits[4] = 0;
  };
  const sampler source(sampling_params{.temperature = 1, .logit_bias = {{2, 5}}, .processor = only_four}, 6);
  BOOST_TEST(source.has_processor());
  const auto result = sample(source, {1, 2, 3, 4, 5, 6}, {}, history_of({8, 9}, {3}));
  BOOST_TEST(result.id == 4);
  BOOST_TEST(biased == 8);
  BOOST_TEST(seen == (std::vector<token>{8, 9, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_processor_that_throws_or_spoils_the_logits_fails_its_own_sample_only) {
  const auto with = [](logits_processor function) {
    return sampler(sampling_params{.processor = std::move(function)}, 3);
  };
  const std::vector<float> logits{1, 2, 3};
  const auto threw = sample(with([](auto, auto) { throw std::runtime_error("no such state"); }), logits, {});
  BOOST_TEST((threw.status == sampling_status::processor_failed));
  BOOST_TEST(threw.message == "the logits processor threw: no such state");
  const auto odd = sample(with([](auto, auto) { throw 5; }), logits, {});
  BOOST_TEST((odd.status == sampling_status::processor_failed));
  BOOST_TEST(!odd.message.empty());
  const auto spoilt = sample(with([](auto, std::span<float> row) { row[1] = not_a_number; }), logits, {});
  BOOST_TEST((spoilt.status == sampling_status::not_finite));
  BOOST_TEST(sample(with([](auto, auto) {}), logits, {}).id == 2);
}

BOOST_AUTO_TEST_CASE(a_model_that_gave_nan_is_reported_even_where_a_processor_hides_it) {
  const auto hide = [](std::span<const token>, std::span<float> logits) {
    std::fill(logits.begin(), logits.end(), 1.0F);
  };
  const auto result = sample(sampler(sampling_params{.logprobs = 1, .processor = hide}, 3),
                             {not_a_number, not_a_number, not_a_number}, {});
  BOOST_TEST((result.status == sampling_status::not_finite));
  BOOST_TEST(result.top.empty());
}

BOOST_AUTO_TEST_CASE(a_mask_is_minus_infinity_for_all_other_tokens) {
  constexpr std::size_t size = 200;
  for (const auto& params : kinds_of_sampling())
    for (std::uint32_t i = 0; i < 50; ++i) {
      const auto logits = some_logits(size, i);
      std::vector<std::uint64_t> mask(4);
      auto masked = logits;
      for (std::size_t id = 0; id < size; ++id)
        if ((id * 7 + i) % (1 + i) == 0)
          mask[id / 64] |= std::uint64_t{1} << id % 64;
        else
          masked[id] = -infinity;
      const sampler source(params, size);
      const sampling_key key{3, 0, i, 0};
      token_history history = history_of({1, 2}, {3});
      sampling_scratch scratch;
      auto row = logits;
      const auto found = source.sample(row, history, key, scratch, mask);
      const auto expected = sample(source, masked, key, history);
      BOOST_TEST((found.status == expected.status));
      BOOST_TEST(found.id == expected.id);
    }
}

BOOST_AUTO_TEST_CASE(the_only_token_of_a_mask_needs_a_finite_logit) {
  const std::vector<std::uint64_t> mask{0, 4};
  std::vector<float> logits(70, 50);
  token_history history;
  sampling_scratch scratch;
  for (const auto& params : {sampling_params{}, sampling_params{.temperature = 1}}) {
    const auto status_with = [&](float logit) {
      auto row = logits;
      row[66] = logit;
      const auto result = sampler(params, 70).sample(row, history, {}, scratch, mask);
      if (result.status == sampling_status::ok) BOOST_TEST(result.id == 66);
      return result.status;
    };
    BOOST_CHECK(status_with(-90) == sampling_status::ok);
    BOOST_CHECK(status_with(-infinity) == sampling_status::nothing_left);
    BOOST_CHECK(status_with(infinity) == sampling_status::not_finite);
    BOOST_CHECK(status_with(not_a_number) == sampling_status::not_finite);
  }
}

BOOST_AUTO_TEST_CASE(bad_parameters_make_no_sampler) {
  BOOST_CHECK_THROW(sampler(sampling_params{.top_p = 2}, 10), std::invalid_argument);
  BOOST_CHECK_THROW(sampler(sampling_params{.logit_bias = {{10, 1}}}, 10), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
