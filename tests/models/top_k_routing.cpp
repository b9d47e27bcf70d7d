// Which experts a row is sent to, and how much each counts.
#include "backend/cpu/top_k_routing.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace cogen::test {
namespace {

std::vector<float> shares_of(std::vector<float> logits, std::int64_t chosen) {
  const auto experts = static_cast<std::int64_t>(logits.size());
  cpu::choose_experts({.data = logits.data(), .rows = 1, .columns = experts, .stride = experts}, chosen);
  return logits;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(top_k_routing)

BOOST_AUTO_TEST_CASE(shares_are_those_of_the_softmax_over_all_experts) {
  const std::vector<float> logits{0.5F, -1, 2, 1.5F, -30};
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  const auto shares = shares_of(logits, 2);
  BOOST_TEST(shares[2] == std::exp(2.0) / sum, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(shares[3] == std::exp(1.5) / sum, boost::test_tools::tolerance(1e-6));
  for (const std::size_t other : {0, 1, 4}) BOOST_TEST(shares[other] == 0);
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

BOOST_AUTO_TEST_CASE(a_row_without_a_softmax_is_no_number) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), infinity}) {
    for (const float share : shares_of({1, bad, 2}, 1)) BOOST_TEST(std::isnan(share));
  }
  for (const float share : shares_of({-infinity, -infinity}, 1)) BOOST_TEST(std::isnan(share));
}

BOOST_AUTO_TEST_CASE(each_row_chooses_for_itself) {
  std::vector<float> rows{1, 2, 99, 5, 0, 99};
  cpu::choose_experts({.data = rows.data(), .rows = 2, .columns = 2, .stride = 3}, 1);
  BOOST_TEST((rows[0] == 0 && rows[1] == shares_of({1, 2}, 1)[1]));
  BOOST_TEST((rows[3] == shares_of({5, 0}, 1)[0] && rows[4] == 0));
  BOOST_TEST((rows[2] == 99 && rows[5] == 99));  // between the rows
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
