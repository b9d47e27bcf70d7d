// The filters over large vocabularies against their definitions done the slow way: sort everything, then cut.
#include "sampling/filters.hpp"

#include "rows.hpp"
#include "sampling/exponential.hpp"
#include "sampling/row.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace cogen;

namespace {

std::vector<candidate> sorted_row(const std::vector<float>& logits, const softmax_scale& scale) {
  std::vector<candidate> row;
  for (std::size_t i = 0; i < logits.size(); ++i)
    row.push_back({static_cast<token>(i), logits[i], weight_of(logits[i], scale)});
  std::sort(row.begin(), row.end(), ranks_before);
  return row;
}

std::vector<token> kept_by_definition(const std::vector<float>& logits, const filters& which,
                                      const softmax_scale& scale) {
  auto row = sorted_row(logits, scale);
  if (which.top_k > 0 && which.top_k < row.size())
    std::erase_if(row,
                  [smallest = row[which.top_k - 1].logit](const candidate& entry) { return entry.logit < smallest; });
  double total = 0;
  for (const auto& each : row) total += each.weight;
  std::vector<token> kept;
  double prefix = 0;
  for (const auto& each : row) {
    const bool within = which.top_p >= 1 || prefix < which.top_p * total || kept.empty();
    if (within && each.weight >= which.min_p && each.weight > 0) kept.push_back(each.id);
    prefix += each.weight;
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<token> kept_by_filters(const std::vector<float>& logits, const filters& which, const softmax_scale& scale,
                                   sampling_scratch& scratch) {
  scan_row(logits, scratch.block_maxima);
  apply_filters(logits, which, scale, scratch);
  std::vector<token> kept;
  for (const auto& each : scratch.candidates)
    if (each.weight > 0) kept.push_back(each.id);
  return kept;
}

std::vector<filters> combinations(std::size_t vocabulary) {
  std::vector<filters> result;
  for (const std::size_t top_k :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{50}, std::size_t{900}, vocabulary})
    for (const double top_p : {0.0, 0.1, 0.5, 0.9, 0.999, 0.999999, 1.0})
      for (const float min_p : {0.0F, 0.001F, 0.3F, 1.0F})
        if (const filters which{top_k, top_p, min_p}; !which.keep_all(vocabulary)) result.push_back(which);
  return result;
}

void check(const std::vector<float>& logits) {
  sampling_scratch scratch;
  const float largest = *std::max_element(logits.begin(), logits.end());
  for (const float temperature : {0.3F, 1.0F, 4.0F})
    for (const auto& which : combinations(logits.size())) {
      const softmax_scale scale{largest, 1 / temperature};
      BOOST_TEST_CONTEXT(logits.size() << " logits, top_k " << which.top_k << " top_p " << which.top_p << " min_p "
                                       << which.min_p << " temperature " << temperature) {
        const bool same = kept_by_filters(logits, which, scale, scratch) == kept_by_definition(logits, which, scale);
        BOOST_TEST(same);
      }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_filters)

BOOST_AUTO_TEST_CASE(a_row_of_any_length_is_cut_as_defined) {
  for (const std::size_t vocabulary : {1, 2, 63, 64, 65, 127, 1000, 20011}) check(some_logits(vocabulary, vocabulary));
}

BOOST_AUTO_TEST_CASE(equal_logits_are_cut_by_their_ids) {
  auto logits = some_logits(3000, 4);
  for (float& logit : logits) logit = std::round(logit * 2) / 2;
  check(logits);
  check(std::vector<float>(500, -3.0F));
}

BOOST_AUTO_TEST_CASE(forbidden_tokens_are_never_kept) {
  auto logits = some_logits(2000, 5);
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (i % 97 != 3) logits[i] = -std::numeric_limits<float>::infinity();
  check(logits);
}

BOOST_AUTO_TEST_CASE(logits_far_apart_do_not_overflow) { check(some_logits(700, 6, 1e30F)); }

BOOST_AUTO_TEST_CASE(the_exponential_is_right_to_two_parts_in_ten_million) {
  double worst = 0;
  for (int i = 0; i <= 870000; ++i) {
    const float x = -1e-4F * static_cast<float>(i);
    if (x < -87) continue;
    worst = std::max(worst, std::abs(exponential(x) / std::exp(static_cast<double>(x)) - 1));
  }
  BOOST_TEST(worst < 2e-7);
  BOOST_TEST(exponential(0) == 1);
  BOOST_TEST(exponential(-87.5F) == 0);
  BOOST_TEST(exponential(-std::numeric_limits<float>::infinity()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
