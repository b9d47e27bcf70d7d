#include "says.hpp"

#include <cogen/cache/mask.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::cache::test {
namespace {

/// One line for each row, 'x' where the query sees the key.
std::vector<std::string> drawn(const mask& mask, const mask_window& window) {
  const at::Tensor seen = materialise(mask, window);
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < seen.size(0); ++i) {
    rows.emplace_back();
    for (std::int64_t j = 0; j < seen.size(1); ++j) rows.back() += seen[i][j].item<bool>() ? 'x' : '.';
  }
  return rows;
}

using picture = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(masks)

BOOST_AUTO_TEST_CASE(causal_looks_back) {
  const picture wanted{"x...", "xx..", "xxx.", "xxxx"};
  BOOST_TEST(drawn(causal(), {.q_length = 4, .kv_length = 4}) == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(offsets_shift_queries_and_keys) {
  const picture later_queries{"xxxx.", "xxxxx"};
  BOOST_TEST(drawn(causal(), {.q_length = 2, .q_offset = 3, .kv_length = 5}) == later_queries,
             boost::test_tools::per_element());
  const picture later_keys{"xx...", "xxx.."};
  BOOST_TEST(drawn(causal(), {.q_length = 2, .q_offset = 3, .kv_length = 5, .kv_offset = 2}) == later_keys,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rules_compose) {
  const mask near([](std::int64_t q, std::int64_t kv) { return kv > q - 2; });
  const mask first([](std::int64_t, std::int64_t kv) { return kv < 1; });
  const mask_window square{.q_length = 4, .kv_length = 4};
  const picture both{"x...", "xx..", ".xx.", "..xx"};
  BOOST_TEST(drawn(causal() & near, square) == both, boost::test_tools::per_element());
  const picture with_first{"x...", "xx..", "xxx.", "x.xx"};
  BOOST_TEST(drawn(causal() & (near | first), square) == with_first, boost::test_tools::per_element());
  const picture all{"xxxx", "xxxx", "xxxx", "xxxx"};
  BOOST_TEST(drawn(causal() | bidirectional(), square) == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_to_see_has_a_shape) {
  const at::Tensor none = materialise(causal(), {.q_length = 0, .kv_length = 3});
  BOOST_TEST(none.size(0) == 0);
  BOOST_TEST(none.size(1) == 3);
  BOOST_TEST((none.scalar_type() == at::kBool));
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  BOOST_CHECK_THROW(mask{mask::rule{}}, std::invalid_argument);
  BOOST_CHECK_EXCEPTION(materialise(causal(), {.q_length = -1}), std::invalid_argument, says({"q_length", "-1"}));
  BOOST_CHECK_EXCEPTION(materialise(causal(), {.kv_offset = -4}), std::invalid_argument, says({"kv_offset", "-4"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
