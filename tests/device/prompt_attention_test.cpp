// When flash attention is to split the keys of prompts.
#include "network/backend/cuda/prompt_attention.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace cogen::test {

namespace {

constexpr int multiprocessors = 132;

bool splits(const std::vector<device::prompt_row>& prompts, std::int64_t heads = 32) {
  return device::splits_over_keys(prompts, heads, multiprocessors);
}

BOOST_AUTO_TEST_SUITE(device_prompt_attention)

BOOST_AUTO_TEST_CASE(keys_of_few_queries_are_split) {
  BOOST_TEST(splits({{.held = 30000, .count = 50}}));
  BOOST_TEST(splits({{.held = 0, .count = 30}, {.held = 30000, .count = 50}}));
  BOOST_TEST(splits({{.held = 448, .count = 64}}));
}

// 32 heads and 64 queries are 32 thread blocks of 264.
BOOST_AUTO_TEST_CASE(those_of_many_queries_are_not) {
  BOOST_TEST(splits({{.held = 30000, .count = 6 * 64}}));
  BOOST_TEST(!splits({{.held = 30000, .count = 6 * 64 + 1}}));
  BOOST_TEST(!splits({{.held = 30000, .count = 2048}}));
  BOOST_TEST(!splits(std::vector<device::prompt_row>(7, {.held = 30000, .count = 17})));
  BOOST_TEST(splits({{.held = 30000, .count = 6 * 64 + 1}}, 8));
}

BOOST_AUTO_TEST_CASE(few_keys_are_not_split) {
  BOOST_TEST(!splits({{.held = 447, .count = 64}}));
  BOOST_TEST(!splits({}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
