// Hidden states of a text become one vector.
#include "network/nn/pooler.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace cogen::nn {
namespace {

using models::dense_spec;
using models::pooling_spec;

/// A tensor's numbers: 1, 2, 3, …
std::vector<float> counted(const std::string&, std::initializer_list<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const auto each : shape) count *= each;
  std::vector<float> numbers;
  for (std::int64_t i = 1; i <= count; ++i) numbers.push_back(static_cast<float>(i));
  return numbers;
}

std::vector<float> pooled(const pooling_spec& spec, std::vector<float> states) {
  const pooler pool({.pooling = spec}, 2, counted);
  std::vector<float> vector(static_cast<std::size_t>(pool.width()));
  pool(states, vector);
  return vector;
}

std::vector<int> read_tokens(pooling_spec::kind type) {
  const pooler pool({.pooling = pooling_spec{.type = type}}, 2, counted);
  std::vector<int> tokens;
  pool.add_read_tokens(4, 3, tokens);
  return tokens;
}

void check_equal(const std::vector<float>& came, const std::vector<float>& wanted) {
  BOOST_TEST(came == wanted, boost::test_tools::tolerance(1e-6F) << boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE(pooling)

BOOST_AUTO_TEST_CASE(the_kind_says_which_tokens_are_read) {
  BOOST_TEST(read_tokens(pooling_spec::kind::cls) == std::vector<int>{4}, boost::test_tools::per_element());
  BOOST_TEST(read_tokens(pooling_spec::kind::last) == std::vector<int>{6}, boost::test_tools::per_element());
  BOOST_TEST(read_tokens(pooling_spec::kind::mean) == (std::vector<int>{4, 5, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(states_are_averaged_and_normalized) {
  check_equal(pooled({}, {1, 2, 5, 6}), {3, 4});
  check_equal(pooled({.normalize = true}, {1, 2, 5, 6}), {0.6F, 0.8F});
  check_equal(pooled({.normalize = true}, {0, 0}), {0, 0});
}

BOOST_AUTO_TEST_CASE(dense_layers_follow_one_another) {
  const dense_spec first{.name = "a", .inputs = 2, .outputs = 3, .bias = false};
  const dense_spec second{.name = "b", .inputs = 3, .outputs = 1};
  check_equal(pooled({.dense = {first}}, {1, -1}), {-1, -1, -1});
  check_equal(pooled({.dense = {first, second}}, {1, -1}), {-5});
}

BOOST_AUTO_TEST_CASE(functions_and_norms_come_behind_the_bias) {
  dense_spec dense{.name = "a", .inputs = 2, .outputs = 2, .activation = dense_spec::function::relu};
  check_equal(pooled({.dense = {dense}}, {-1, 0.25F}), {0.5F, 0});
  dense.norm = models::norm_spec{.name = "n", .epsilon = 0, .type = models::norm_spec::kind::layer};
  check_equal(pooled({.dense = {dense}}, {-1, 0.25F}), {1, -2});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::nn
