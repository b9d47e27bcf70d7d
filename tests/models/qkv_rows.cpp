// Where the rows of queries, keys and values lie in a checkpoint's matrices.
#include "network/weights/qkv_rows.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

using rows = std::vector<std::int64_t>;

/// Of one part, in order.
rows listed(const weights::named_rows& part) {
  rows result;
  for (const auto& run : part.order())
    for (std::int64_t row = run.first; row < run.first + run.count; ++row) result.push_back(row);
  return result;
}

std::vector<rows> listed(const models::attention_spec& spec) {
  std::vector<rows> result;
  for (const auto& part : weights::qkv_rows(spec, "p.")) result.push_back(listed(part));
  return result;
}

/// Four heads of two dimensions over two key heads.
models::attention_spec small() { return {.heads = 4, .kv_heads = 2, .head_dim = 2}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(qkv_rows)

BOOST_AUTO_TEST_CASE(three_matrices_are_read_as_they_are) {
  const auto parts = weights::qkv_rows(small(), "p.");
  BOOST_REQUIRE_EQUAL(parts.size(), 3U);
  BOOST_TEST(parts[1].name == "p.k_proj");
  BOOST_TEST(parts[0].stored_rows() == 8);
  BOOST_TEST(parts[2].stored_rows() == 4);
  BOOST_TEST(listed(parts[0]) == (rows{0, 1, 2, 3, 4, 5, 6, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_matrix_has_all_queries_then_all_keys_then_all_values) {
  auto spec = small();
  spec.qkv = {"qkv"};
  const auto parts = listed(spec);
  BOOST_TEST(parts[0] == (rows{0, 1, 2, 3, 4, 5, 6, 7}), boost::test_tools::per_element());
  BOOST_TEST(parts[1] == (rows{8, 9, 10, 11}), boost::test_tools::per_element());
  BOOST_TEST(parts[2] == (rows{12, 13, 14, 15}), boost::test_tools::per_element());
  BOOST_TEST(weights::qkv_rows(spec, "p.")[1].stored_rows() == 16);
}

BOOST_AUTO_TEST_CASE(groups_have_their_queries_a_key_and_a_value) {
  auto spec = small();
  spec.qkv = {"qkv"};
  spec.grouped_qkv = true;
  const auto parts = listed(spec);
  BOOST_TEST(parts[0] == (rows{0, 1, 2, 3, 8, 9, 10, 11}), boost::test_tools::per_element());
  BOOST_TEST(parts[1] == (rows{4, 5, 12, 13}), boost::test_tools::per_element());
  BOOST_TEST(parts[2] == (rows{6, 7, 14, 15}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(gates_stand_behind_the_queries_of_their_head) {
  auto spec = small();
  spec.output_gate = true;
  const auto parts = listed(spec);
  BOOST_TEST(parts[0] == (rows{0, 1, 4, 5, 8, 9, 12, 13}), boost::test_tools::per_element());
  BOOST_TEST(parts[1] == (rows{0, 1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(parts[3] == (rows{2, 3, 6, 7, 10, 11, 14, 15}), boost::test_tools::per_element());
  BOOST_TEST(weights::qkv_rows(spec, "p.")[3].stored_rows() == 16);
}

BOOST_AUTO_TEST_CASE(neighbors_that_are_rotated_are_taken_apart) {
  models::attention_spec spec{.heads = 2, .kv_heads = 1, .head_dim = 6};
  spec.rope = models::rope_spec{.config = {.rotary_dim = 4}, .interleaved = true};
  const auto parts = listed(spec);
  BOOST_TEST(parts[0] == (rows{0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11}), boost::test_tools::per_element());
  BOOST_TEST(parts[1] == (rows{0, 2, 1, 3, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST(parts[2] == (rows{0, 1, 2, 3, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(norms_without_names_have_no_weights) {
  auto spec = small();
  spec.qk_norm = models::qk_norm_spec{.q = "", .k = ""};
  const auto found = weights::read_head_numbers(
      spec, "p.", [](const std::string&, auto) -> std::vector<float> { throw std::logic_error("nothing is read"); });
  BOOST_TEST((found.q_norm == std::vector<float>{1, 1}));
  BOOST_TEST((found.k_norm == found.q_norm));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
