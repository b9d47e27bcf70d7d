// Where the rows of recurrent mixers stand in their tensors.
#include "network/weights/mixer_rows.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace cogen::test {
namespace {

using rows = std::vector<std::int64_t>;

rows in_order(const weights::named_rows& part) {
  rows found;
  for (const auto& run : part.order())
    for (std::int64_t row = run.first; row < run.first + run.count; ++row) found.push_back(row);
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mixer_rows)

/// Two key heads of two numbers, each with two value heads of one: q q k k v v z z, and b b a a.
BOOST_AUTO_TEST_CASE(rows_that_stand_together_by_key_heads_are_taken_apart) {
  const models::delta_net_spec net{
      .heads = 4, .key_heads = 2, .key_width = 2, .value_width = 1, .grouped_qkvz = true, .grouped_ba = true};
  const auto in = weights::in_rows(net, "net."), decisions = weights::decision_rows(net, "net.");
  BOOST_REQUIRE(in.size() == 1U);
  BOOST_TEST(in.front().name == "net.in_proj_qkvz");
  BOOST_TEST(in_order(in.front()) == (rows{0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15}),
             boost::test_tools::per_element());
  BOOST_REQUIRE(decisions.size() == 1U);
  BOOST_TEST(decisions.front().name == "net.in_proj_ba");
  BOOST_TEST(in_order(decisions.front()) == (rows{0, 1, 4, 5, 2, 3, 6, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
