#include "says.hpp"

#include <cogen/detail/cache/mask.hpp>
#include <cogen/extend/tensors.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(masks)
namespace {

/// One line for each row, 'x' where the query sees the key.
std::vector<std::string> drawn(const mask& mask, const mask_window& window) {
  const at::Tensor seen = to_dense(mask, window);
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < seen.size(0); ++i) {
    rows.emplace_back();
    for (std::int64_t j = 0; j < seen.size(1); ++j) rows.back() += seen[i][j].item<bool>() ? 'x' : '.';
  }
  return rows;
}

using picture = std::vector<std::string>;

constexpr mask_window square_of(int length) { return {.q_length = length, .kv_length = length}; }

}  // namespace

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
  const picture full{"xxxx", "xxxx", "xxxx", "xxxx"};
  BOOST_TEST(drawn(causal() | bidirectional(), square) == full, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_window_has_its_own_position_in_it) {
  const picture alone{"x...", ".x..", "..x.", "...x"};
  BOOST_TEST(drawn(causal() & sliding(1), square_of(4)) == alone, boost::test_tools::per_element());
  const picture three{"x....", "xx...", "xxx..", ".xxx.", "..xxx"};
  BOOST_TEST(drawn(causal() & sliding(3), square_of(5)) == three, boost::test_tools::per_element());
  const picture both_ways{"xxxx", "xxxx", ".xxx", "..xx"};
  BOOST_TEST(drawn(sliding(2), square_of(4)) == both_ways, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_chunk_sees_only_itself) {
  const picture of_three{"x......", "xx.....", "xxx....", "...x...", "...xx..", "...xxx.", "......x"};
  BOOST_TEST(drawn(causal() & chunked(3), square_of(7)) == of_three, boost::test_tools::per_element());
  const picture across{"xxx..", "...x.", "...xx"};
  BOOST_TEST(drawn(causal() & chunked(3), {.q_length = 3, .q_offset = 2, .kv_length = 5}) == across,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_first_ones_are_seen_by_all) {
  const picture two{"xx..", "xx.."};
  BOOST_TEST(drawn(sinks(2), {.q_length = 2, .q_offset = 7, .kv_length = 4}) == two, boost::test_tools::per_element());
  const picture none{"...", "..."};
  BOOST_TEST(drawn(sinks(0), {.q_length = 2, .kv_length = 3}) == none, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_query_attends_to_padding) {
  const picture padded{"....", "....", "..x.", "..xx"};
  BOOST_TEST(drawn(causal() & padding(2), square_of(4)) == padded, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(sequences_of_a_varlen_mask_do_not_attend_to_each_other) {
  const picture wanted{"xx....", "xx....", "..x...", "...xx.", "...xx.", "......"};
  BOOST_TEST(drawn(varlen({2, 0, 1, 2}), square_of(6)) == wanted, boost::test_tools::per_element());
  const picture no_key{"..", ".."};
  BOOST_TEST(drawn(varlen({}), square_of(2)) == no_key, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(snapshots_see_themselves_both_ways) {
  const picture wanted{"x.....", "xxxx..", "xxxx..", "xxxx..", "xxxxx.", "xxxxxx"};
  BOOST_TEST(drawn(causal() | within_blocks({{1, 4}, {5, 5}}), square_of(6)) == wanted,
             boost::test_tools::per_element());
}

/// Every attention span against what attention_span.hpp says, and first_seen() against the rule.
BOOST_AUTO_TEST_CASE(a_attention_span_is_the_rule_it_says) {
  for (const bool looks_back : {true, false})
    for (const int window : {0, 1, 5})
      for (const int chunk : {0, 1, 4})
        for (const int count : {0, 3}) {
          const attention_span span{.causal = looks_back, .window = window, .chunk = chunk, .sinks = count};
          const mask rule = rule_of(span);
          for (int q = 0; q < 14; ++q)
            for (int kv = 0; kv < 14; ++kv) {
              const bool in_window = window == 0 || (kv > q - window && kv < q + window);
              const bool near = in_window && (chunk == 0 || q / chunk == kv / chunk);
              BOOST_TEST_REQUIRE(rule(q, kv) == ((!looks_back || kv <= q) && (near || kv < count)));
              if (count == 0 && kv < first_seen(span, q)) BOOST_TEST_REQUIRE(!rule(q, kv));
              if (kv == first_seen(span, q)) BOOST_TEST_REQUIRE(rule(q, kv));
            }
        }
}

BOOST_AUTO_TEST_CASE(a_later_window_is_a_part_of_the_whole) {
  const mask rule = causal() & (sliding(4) | sinks(2)) & padding(1);
  const picture whole = drawn(rule, square_of(12));
  const picture part = drawn(rule, {.q_length = 3, .q_offset = 7, .kv_length = 5, .kv_offset = 5});
  for (std::size_t i = 0; i < part.size(); ++i) BOOST_TEST(part[i] == whole[7 + i].substr(5, 5));
}

BOOST_AUTO_TEST_CASE(rules_that_make_no_sense_are_named) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, least}) {
    const std::string said = std::to_string(bad);
    BOOST_CHECK_EXCEPTION(sliding(bad), std::invalid_argument, says({"window", said}));
    BOOST_CHECK_EXCEPTION(chunked(bad), std::invalid_argument, says({"chunk", said}));
  }
  BOOST_CHECK_EXCEPTION(sinks(-1), std::invalid_argument, says({"sinks", "-1"}));
  BOOST_CHECK_EXCEPTION(padding(-7), std::invalid_argument, says({"padding", "-7"}));
  BOOST_CHECK_EXCEPTION(varlen({3, -2}), std::invalid_argument, says({"packed", "-2"}));
  BOOST_CHECK_EXCEPTION(within_blocks({{0, 2}, {5, 4}}), std::invalid_argument, says({"block", "4", "5"}));
}

BOOST_AUTO_TEST_CASE(nothing_to_see_has_a_shape) {
  const at::Tensor none = to_dense(causal(), {.q_length = 0, .kv_length = 3});
  BOOST_TEST(none.size(0) == 0);
  BOOST_TEST(none.size(1) == 3);
  BOOST_TEST((none.scalar_type() == at::kBool));
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  BOOST_CHECK_THROW(mask{mask::rule{}}, std::invalid_argument);
  BOOST_CHECK_EXCEPTION(to_dense(causal(), {.q_length = -1}), std::invalid_argument, says({"q_length", "-1"}));
  BOOST_CHECK_EXCEPTION(to_dense(causal(), {.kv_offset = -4}), std::invalid_argument, says({"kv_offset", "-4"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
