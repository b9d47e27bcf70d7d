// Matrices that lie in one tensor, and rows that are stored as vectors.
#include "../load/memory_file.hpp"
#include "../load/tiny_model.hpp"
#include "network/weights/matrix_rows.hpp"
#include "network/weights/mlp_rows.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

using numbers = std::vector<float>;

/// 0, 1, 2 ... in a tensor of these dimensions, innermost first as GGUF has them.
numbers rows_of(std::initializer_list<std::uint64_t> dimensions, const weights::named_rows& part,
                std::optional<std::int64_t> inputs) {
  const auto count = std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1}, std::multiplies());
  auto draft = two_layers_of("llama", 32, {}, {});
  draft.add(part.name, dimensions, 0, counting_floats(count));
  const memory_file written(draft.bytes());
  const load::checkpoint files(written.path());
  const weights::matrix_rows rows(files, part, inputs);
  numbers read(static_cast<std::size_t>(part.rows * inputs.value_or(1)));
  rows.read_as_float(0, part.rows, read);
  return read;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stacked_rows)

BOOST_AUTO_TEST_CASE(an_expert_has_its_part_of_the_tensor) {
  const weights::named_rows third{.name = "some.weight", .rows = 2, .stack = 4, .index = 2};
  BOOST_TEST((rows_of({3, 2, 4}, third, 3) == numbers{12, 13, 14, 15, 16, 17}));
}

BOOST_AUTO_TEST_CASE(transposed_matrices_may_be_stacked) {
  const weights::named_rows second{.name = "some.weight", .rows = 2, .transposed = true, .stack = 3, .index = 1};
  BOOST_TEST((rows_of({2, 3, 3}, second, 3) == numbers{6, 8, 10, 7, 9, 11}));
}

BOOST_AUTO_TEST_CASE(a_vector_of_each_expert_is_a_row_of_the_tensor) {
  const weights::named_rows second{.name = "some.bias", .rows = 3, .stack = 2, .index = 1};
  BOOST_TEST((rows_of({3, 2}, second, std::nullopt) == numbers{3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(a_single_row_may_be_a_vector) {
  const weights::named_rows row{.name = "some.weight", .rows = 1, .may_be_vector = true};
  BOOST_TEST((rows_of({3}, row, 3) == numbers{0, 1, 2}));
  BOOST_TEST((rows_of({3, 1}, row, 3) == numbers{0, 1, 2}));
}

/// Of a tensor of three matrices of ones in NVFP4, of which each has one of these factors.
weights::matrix_rows ones_with_factors(const load::checkpoint& files, std::int64_t index) {
  return {files, weights::named_rows{.name = "some.weight", .rows = 2, .stack = 3, .index = index}, 64};
}

std::string ones_and_factors(const numbers& factors) {
  auto draft = two_layers_of("llama", 32, {}, {});
  const auto block = std::string(4, '\x38') + std::string(32, '\x22');
  std::string blocks;
  for (int row = 0; row < 6; ++row) blocks += block;
  draft.add("some.weight", {64, 2, 3}, 40, blocks);
  if (!factors.empty()) draft.add("some.scale", {factors.size()}, 0, raw_floats(factors));
  return draft.bytes();
}

BOOST_AUTO_TEST_CASE(a_matrix_of_nvfp4_has_its_factor) {
  const memory_file with(ones_and_factors({2, 3, 5})), without(ones_and_factors({})), wrong(ones_and_factors({2, 3}));
  numbers read(128);
  const load::checkpoint files(with.path());
  const auto second = ones_with_factors(files, 1);
  BOOST_TEST(second.factor() == 3);
  BOOST_TEST(second.factor_source()->name() == "some.scale");
  second.read_as_float(0, 2, read);
  BOOST_TEST(read == numbers(128, 3), boost::test_tools::per_element());
  const load::checkpoint plain(without.path());
  BOOST_TEST(ones_with_factors(plain, 1).factor() == 1);
  ones_with_factors(plain, 1).read_as_float(0, 2, read);
  BOOST_TEST(read == numbers(128, 1), boost::test_tools::per_element());
  const weights::named_rows unscaled{.name = "some.weight", .rows = 2, .stack = 3, .index = 1, .scaled = false};
  BOOST_TEST(!weights::matrix_rows(files, unscaled, 64).factor_source());
  const load::checkpoint misshapen(wrong.path());
  BOOST_CHECK_THROW(ones_with_factors(misshapen, 1), load::load_error);
}

BOOST_AUTO_TEST_CASE(scales_of_shares_are_no_factors_of_a_matrix) {
  models::moe_spec spec{.expert = {}, .experts = 3, .stacked = true};
  spec.expert.down = "ffn_down_exps";
  BOOST_TEST(weights::down_rows(spec, "blk.0.", 1, 64).scaled);
  spec.router.share_scales = "ffn_down_exps.scale";
  BOOST_TEST(!weights::down_rows(spec, "blk.0.", 1, 64).scaled);
}

BOOST_AUTO_TEST_CASE(another_number_of_experts_is_refused) {
  const weights::named_rows third{.name = "some.weight", .rows = 2, .stack = 5, .index = 2};
  BOOST_CHECK_THROW(rows_of({3, 2, 4}, third, 3), load::load_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
