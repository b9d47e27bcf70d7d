// Which experts a row is sent to, and how much each counts.
#include "network/backend/cpu/top_k_routing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace cogen::test {
namespace {

using models::router_spec;
using numbers = std::vector<float>;

models::moe_spec chooser(std::size_t experts, std::int64_t chosen, const router_spec& router = {}) {
  return {.expert = {}, .experts = static_cast<std::int64_t>(experts), .top_k = chosen, .router = router};
}

numbers shares_of(const models::moe_spec& spec, numbers logits, const numbers& choice_bias = {}) {
  numbers scratch(2 * logits.size());
  cpu::choose_experts(spec, choice_bias, logits, scratch);
  return logits;
}

numbers shares_of(const numbers& logits, std::int64_t chosen) {
  return shares_of(chooser(logits.size(), chosen), logits);
}

/// The numbers of the `count` largest; of equal ones the first.
std::vector<std::size_t> best(const numbers& values, std::int64_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t index) { return values[index]; });
  order.resize(static_cast<std::size_t>(count));
  return order;
}

numbers scores_of(router_spec::scoring method, const numbers& logits) {
  numbers scores(logits.size());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  std::ranges::transform(logits, scores.begin(), [&](float logit) {
    return static_cast<float>(method == router_spec::scoring::softmax ? std::exp(double{logit}) / sum
                                                                      : 1 / (1 + std::exp(-double{logit})));
  });
  return scores;
}

/// The same by sorting, as papers and Transformers describe it.
numbers sorted_shares(const models::moe_spec& spec, const numbers& logits, const numbers& choice_bias) {
  const auto& router = spec.router;
  const auto scores = scores_of(router.scores, logits);
  numbers choice = scores;
  for (std::size_t expert = 0; expert < choice_bias.size(); ++expert) choice[expert] += choice_bias[expert];
  const auto groups = static_cast<std::size_t>(router.groups), size = choice.size() / groups;
  numbers group_scores(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    const numbers members(choice.begin() + static_cast<std::ptrdiff_t>(group * size),
                          choice.begin() + static_cast<std::ptrdiff_t>((group + 1) * size));
    for (const auto member : best(members, router.groups_by == router_spec::group_scoring::best ? 1 : 2))
      group_scores[group] += members[member];
  }
  const auto open = best(group_scores, router.top_groups);
  for (std::size_t expert = 0; expert < choice.size(); ++expert)
    if (std::ranges::find(open, expert / size) == open.end()) choice[expert] = -1000;
  numbers shares(scores.size());
  double sum = 1e-20;
  const auto chosen = best(choice, spec.top_k);
  for (const auto expert : chosen) sum += double{scores[expert]};
  for (const auto expert : chosen)
    shares[expert] = static_cast<float>(scores[expert] / (router.renormalized ? sum : 1) * router.scale);
  return shares;
}

/// Softmaxes over the logits near the best, then near the best of the others, as Transformers' sparsemixer describes
/// them.
numbers sparse_shares(const numbers& logits, double jitter) {
  numbers shares(logits.size());
  std::vector<std::size_t> left(logits.size());
  std::iota(left.begin(), left.end(), 0U);
  for (const auto pick : best(logits, 2)) {
    double sum = 0;
    for (const auto other : left) {
      const double larger = std::max(std::abs(logits[other]), logits[pick]);
      if ((double{logits[pick]} - logits[other]) / larger <= 2 * jitter)
        sum += std::exp(double{logits[other]} - logits[pick]);
    }
    shares[pick] = static_cast<float>(1 / sum);
    std::erase(left, pick);
  }
  return shares;
}

std::vector<router_spec> routers() {
  std::vector<router_spec> result;
  for (const auto scores : {router_spec::scoring::softmax, router_spec::scoring::sigmoid})
    for (const bool renormalized : {false, true})
      for (const std::int64_t groups : {1, 3, 4})
        for (const auto groups_by : {router_spec::group_scoring::best, router_spec::group_scoring::two_best})
          result.push_back({.scores = scores,
                            .groups = groups,
                            .top_groups = (groups + 1) / 2,
                            .groups_by = groups_by,
                            .renormalized = renormalized,
                            .scale = groups == 3 ? 2.5 : 1});
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(top_k_routing)

BOOST_AUTO_TEST_CASE(every_router_chooses_as_sorting_does) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2);
  const auto drawn = [&] {
    numbers some(12);
    std::ranges::generate(some, [&] { return normal(random); });
    return some;
  };
  for (const auto& router : routers()) {
    for (int round = 0; round < 50; ++round) {
      const auto spec = chooser(12, 1 + round % 4, router);
      const auto logits = drawn(), choice_bias = round % 2 == 0 ? numbers() : drawn();
      const auto shares = shares_of(spec, logits, choice_bias), expected = sorted_shares(spec, logits, choice_bias);
      for (std::size_t expert = 0; expert < shares.size(); ++expert)
        BOOST_TEST(std::abs(shares[expert] - expected[expert]) <= 1e-5F * expected[expert]);
    }
  }
}

BOOST_AUTO_TEST_CASE(sparsemixer_chooses_one_expert_after_the_other) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 2);
  for (int round = 0; round < 200; ++round) {
    const double jitter = 0.05 * (round % 10);
    numbers logits(6);
    std::ranges::generate(logits, [&] { return normal(random) - static_cast<float>(round % 7); });
    const auto spec = chooser(6, 2, {.scores = router_spec::scoring::sparsemixer, .jitter = jitter});
    const auto shares = shares_of(spec, logits), expected = sparse_shares(logits, jitter);
    for (std::size_t expert = 0; expert < shares.size(); ++expert)
      BOOST_TEST(std::abs(shares[expert] - expected[expert]) <= 1e-5F * expected[expert]);
  }
}

BOOST_AUTO_TEST_CASE(without_a_near_logit_an_expert_of_sparsemixer_counts_whole) {
  const auto shares =
      shares_of(chooser(3, 2, {.scores = router_spec::scoring::sparsemixer, .jitter = 0.01}), {1, 4, 2});
  BOOST_TEST((shares == numbers{0, 1, 1}));
}

BOOST_AUTO_TEST_CASE(a_bias_of_the_choice_does_not_change_shares) {
  const auto spec = chooser(3, 1, {.scores = router_spec::scoring::sigmoid});
  const auto shares = shares_of(spec, {0, 5, 1}, {10, 0, 0});
  BOOST_TEST((shares == numbers{0.5F, 0, 0}));
}

BOOST_AUTO_TEST_CASE(a_choice_bias_below_zero_does_not_hide_an_expert_of_the_best_group) {
  const auto spec = chooser(4, 2, {.scores = router_spec::scoring::sigmoid, .groups = 2, .top_groups = 1});
  const auto shares = shares_of(spec, {0, 0, 0, 0}, {-3, -9, -4, -4});
  BOOST_TEST((shares == numbers{0.5F, 0.5F, 0, 0}));
}

BOOST_AUTO_TEST_CASE(all_experts_may_be_chosen) {
  const auto shares = shares_of({1, 3, 2}, 3);
  BOOST_TEST(shares[0] + shares[1] + shares[2] == 1.0F, boost::test_tools::tolerance(1e-6F));
  BOOST_TEST((shares[0] > 0 && shares[0] < shares[2] && shares[2] < shares[1]));
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_ones_is_chosen) {
  const auto shares = shares_of({1, 2, 2, 2, 1}, 2);
  BOOST_TEST((shares[1] > 0 && shares[2] == shares[1]));
  BOOST_TEST((shares[0] == 0 && shares[3] == 0 && shares[4] == 0));
}

BOOST_AUTO_TEST_CASE(large_logits_do_not_overflow) {
  const auto shares = shares_of({1e30F, -1e30F, 90, -90}, 2);
  BOOST_TEST(shares[0] == 1);
  BOOST_TEST((shares[1] == 0 && shares[2] == 0 && shares[3] == 0));
}

BOOST_AUTO_TEST_CASE(what_is_added_to_the_sum_makes_shares_smaller) {
  const auto spec =
      chooser(2, 1, {.scores = router_spec::scoring::sigmoid, .renormalized = true, .added_to_sum = 0.25});
  BOOST_TEST(shares_of(spec, {0, -1}).front() == 0.5F / 0.75F);
}

BOOST_AUTO_TEST_CASE(a_row_without_scores_is_no_number_for_as_many_experts_as_are_chosen) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto count = [](const numbers& shares) {
    return std::ranges::count_if(shares, [](float share) { return std::isnan(share); });
  };
  for (const float bad : {std::nanf(""), infinity}) BOOST_TEST(count(shares_of({1, bad, 2}, 2)) == 2);
  BOOST_TEST(count(shares_of({-infinity, -infinity}, 1)) == 1);
  const auto sigmoid = chooser(3, 2, {.scores = router_spec::scoring::sigmoid, .renormalized = true});
  BOOST_TEST(count(shares_of(sigmoid, {1, std::nanf(""), 2})) == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
