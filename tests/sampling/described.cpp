// What is said of a sample to a device is all that it depends on.
#include "rows.hpp"
#include "sampling/described_sampling.hpp"
#include "sampling/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <new>
#include <random>

using namespace cogen;
using cogen::described_sampling;

namespace {

constexpr int vocabulary = 300;
constexpr float infinity = std::numeric_limits<float>::infinity();

sampling_params some_parameters(std::mt19937& random) {
  sampling_params params;
  const auto chance = [&](unsigned odds) { return random() % odds == 0; };
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  if (!chance(5)) params.temperature = 0.5 + below(3);
  if (chance(2)) params.top_k = below(40);
  if (chance(2)) params.top_p = below(11) / 10.0;
  if (chance(3)) params.min_p = below(4) / 10.0;
  if (chance(2)) params.repetition_penalty = 0.8 + below(8) / 10.0;
  if (chance(3)) params.presence_penalty = below(20) / 10.0 - 1;
  if (chance(3)) params.frequency_penalty = below(20) / 10.0 - 1;
  if (chance(2)) params.min_tokens = below(12);
  for (int i = below(6); i > 0; --i) params.logit_bias[below(vocabulary)] = chance(2) ? -infinity : below(9) - 4;
  if (chance(2)) params.logprobs = below(30);
  if (chance(2)) params.logprobs_mode = logprobs_mode::processed;
  return params;
}

/// Of some tokens, of none, or none at all.
std::vector<std::uint64_t> some_mask(std::mt19937& random) {
  if (random() % 2 == 0) return {};
  std::vector<std::uint64_t> mask((vocabulary + 63) / 64);
  for (auto& word : mask) word = random() % 4 == 0 ? std::uint64_t{random()} << random() % 32 : 0;
  return mask;
}

token_history some_history(std::mt19937& random) {
  token_history history;
  for (auto i = random() % 12; i > 0; --i) history.append_given(std::vector{static_cast<token>(random() % 20)});
  for (auto i = random() % 12; i > 0; --i) history.append_generated(static_cast<token>(random() % 20));
  if (random() % 4 == 0) history.truncate(history.length() / 2);
  return history;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_described)

BOOST_AUTO_TEST_CASE(a_described_sample_gives_the_same_token) {
  std::mt19937 random(1);
  sampling_lists lists;
  sampling_scratch scratch;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<token> end_tokens{static_cast<token>(random() % 20), 3, vocabulary + 1};
    const sampler chooses(some_parameters(random), vocabulary, std::span(end_tokens).first(2));
    auto history = some_history(random);
    auto logits = some_logits(vocabulary, random() % 50);
    const auto mask = some_mask(random);
    const sampling_key key{random(), random(), static_cast<std::uint32_t>(history.length()), 2};
    const bool unknown_last = history.length() > 0 && history.was_generated(history.length() - 1);
    const token last = unknown_last ? history.tokens().back() : -1;
    auto known = history;
    if (unknown_last) known.truncate(known.length() - 1);
    auto row = chooses.row_after(known, unknown_last, {}, lists);
    row.mask = {static_cast<std::uint32_t>(lists.masks.size()), static_cast<std::uint32_t>(mask.size())};
    lists.masks.insert(lists.masks.end(), mask.begin(), mask.end());
    row.key = key;
    const auto [status, chosen] = described_sampling(row, lists)(logits, last);
    const auto expected = chooses.sample(logits, history, key, scratch, mask);
    BOOST_TEST((status == expected.status));
    BOOST_TEST(chosen.id == expected.id);
    BOOST_TEST(chosen.logprob == expected.logprob);
    BOOST_REQUIRE(chosen.top.size() == expected.top.size());
    for (std::size_t j = 0; j < chosen.top.size(); ++j) {
      BOOST_TEST(chosen.top[j].id == expected.top[j].id);
      BOOST_TEST(chosen.top[j].logprob == expected.top[j].logprob);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_described_known_token_gives_its_log_probability) {
  sampling_scratch scratch;
  const sampling_lists lists;
  const auto check = [&](const std::vector<float>& logits, token id, unsigned count) {
    const sampling_row row{.scored = id, .logprobs = sampled_logprobs::raw, .top = {0, count}};
    const auto [status, known] = described_sampling(row, lists)(logits, -1);
    const auto expected = logprobs_of(logits, id, count, scratch);
    BOOST_TEST((status == expected.status));
    BOOST_TEST(known.id == expected.id);
    BOOST_TEST(known.logprob == expected.logprob);
    BOOST_REQUIRE(known.top.size() == expected.top.size());
    for (std::size_t i = 0; i < known.top.size(); ++i) {
      BOOST_TEST(known.top[i].id == expected.top[i].id);
      BOOST_TEST(known.top[i].logprob == expected.top[i].logprob);
    }
  };
  for (const unsigned count : {0, 3, 128}) {
    for (unsigned seed = 0; seed < 100; ++seed)
      check(some_logits(vocabulary, seed), static_cast<token>(3 * seed), count);
    auto logits = some_logits(vocabulary, 100);
    logits[7] = -infinity;
    check(logits, 7, count);
    check(logits, 8, count);
    logits[9] = infinity;
    check(logits, 8, count);
    logits[9] = std::numeric_limits<float>::quiet_NaN();
    check(logits, 9, count);
    logits.assign(vocabulary, -infinity);
    check(logits, 7, count);
    logits[8] = 2;
    check(logits, 7, count);
    check(logits, 8, count);
  }
}

BOOST_AUTO_TEST_CASE(log_probabilities_have_places_of_their_own) {
  sampling_lists lists;
  token_history history;
  for (const int count : {3, 0, 128}) {
    const auto begin = lists.top_logprobs;
    const auto row = sampler({.logprobs = count}, vocabulary).row_after(history, false, {}, lists);
    BOOST_TEST((row.logprobs == sampled_logprobs::raw));
    BOOST_TEST(row.top.begin == begin);
    BOOST_TEST(row.top.count == static_cast<unsigned>(count));
  }
  const auto row = sampler({}, vocabulary).row_after(history, false, {}, lists);
  BOOST_TEST((row.logprobs == sampled_logprobs::none));
  BOOST_TEST(lists.top_logprobs == 131U);
}

BOOST_AUTO_TEST_CASE(rows_with_a_processor_are_for_the_host) {
  sampling_lists lists;
  token_history history;
  const auto row_of = [&](const sampling_params& params) {
    return sampler(params, vocabulary).row_after(history, false, {}, lists);
  };
  const auto row = row_of({.logit_bias = {{3, 1}}, .processor = [](auto, auto) {}});
  BOOST_TEST(row.by_host);
  BOOST_TEST(row.biases.count == 1U);
  BOOST_TEST(!row_of({.logit_bias = {{3, 1}}}).by_host);
}

BOOST_AUTO_TEST_CASE(only_what_a_sample_needs_is_listed) {
  sampling_lists lists;
  token_history history;
  history.append_given(std::vector{1, 2, 2});
  history.append_generated(7);
  const auto counts_of = [&](const sampling_params& params) {
    return sampler(params, vocabulary).row_after(history, false, {}, lists).counts;
  };
  BOOST_TEST(counts_of({.temperature = 1}).count == 0U);
  BOOST_TEST(counts_of({.presence_penalty = 1}).count == 1U);
  const auto repeated = counts_of({.repetition_penalty = 2});
  BOOST_TEST(repeated.begin == 1U);
  BOOST_TEST(repeated.count == 3U);
  const token end = 4;
  const sampler patient(sampling_params{.min_tokens = 2}, vocabulary, {&end, 1});
  BOOST_TEST(patient.row_after(history, false, {}, lists).held_back.count == 1U);
  BOOST_TEST(patient.row_after(history, true, {}, lists).held_back.count == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
