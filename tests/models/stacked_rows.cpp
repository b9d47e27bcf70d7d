// Matrices that lie in one tensor, and rows that are stored as vectors.
#include "../load/memory_file.hpp"
#include "../load/tiny_model.hpp"
#include "network/weights/matrix_rows.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <numeric>
#include <optional>
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

BOOST_AUTO_TEST_CASE(another_number_of_experts_is_refused) {
  const weights::named_rows third{.name = "some.weight", .rows = 2, .stack = 5, .index = 2};
  BOOST_CHECK_THROW(rows_of({3, 2, 4}, third, 3), load::load_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
