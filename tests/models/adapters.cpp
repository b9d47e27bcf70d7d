// Products of low rank that are added to columns of another product.
#include "network/backend/cpu/operators.hpp"
#include "network/kernels/instruction_set.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

constexpr std::int64_t inputs = 3, outputs = 4;

using numbers = std::vector<float>;

class products {
 public:
  /// Of rows one after the other.
  std::shared_ptr<const kernels::tiled_matrix> matrix(const numbers& rows, std::int64_t columns = inputs) {
    const kernels::weight_source source{.format = element_type::f32,
                                        .rows = static_cast<std::int64_t>(rows.size()) / columns,
                                        .read = [&rows, columns](std::int64_t first, std::int64_t, std::byte*) {
                                          return reinterpret_cast<const std::byte*>(rows.data() + first * columns);
                                        }};
    return std::make_shared<const kernels::tiled_matrix>(std::span(&source, 1), columns, workers_);
  }

  /// layer(pre_norm(x))
  numbers operator()(const cpu::projection& layer, numbers x, const cpu::forms::norm& pre_norm = {}) {
    numbers found;
    run(x, [&](const cpu::forward_context& context, const cpu::activations& rows) {
      const auto y = cpu::operators(context).norm_linear(rows, pre_norm, layer, outputs);
      for (std::int64_t row = 0; row < y.rows; ++row) found.insert(found.end(), y.row(row), y.row(row) + outputs);
    });
    return found;
  }

  numbers normed(const cpu::norm& layer, numbers x) {
    run(x, [&](const cpu::forward_context& context, const cpu::activations& rows) { layer(context, rows, rows); });
    return x;
  }

 private:
  template <class Use>
  void run(numbers& x, const Use& use) {
    const auto rows = static_cast<std::int64_t>(x.size()) / inputs;
    const cache::step step({{.slot = 0, .count = static_cast<int>(rows)}});
    use(cpu::forward_context{{&workers_, set_}, step, cache_, {}, {}, space_},
        cpu::activations{.data = x.data(), .rows = rows, .columns = inputs, .stride = inputs});
  }

  static constexpr cache::kv_cache_spec one_layer{.kv_heads = 1, .head_dim = 8};

  const kernels::instruction_set set_ = kernels::preferred_instruction_set();
  kernels::worker_pool workers_{2};
  cache::cache cache_{{&one_layer, 1}, {.slots = 1, .max_sequence_length = 8}};
  cpu::arena space_;
};

/// One of rank 1 for the first output, one of rank 2 for the last two.
cpu::projection adapted(products& runner) {
  return {.weights = runner.matrix({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
          .bias = {1, 0, 0, -1},
          .adapters = {{.down = runner.matrix({1, 0, -1}), .up = runner.matrix({3}, 1), .first = 0},
                       {.down = runner.matrix({1, 1, 1, 0, 2, 0}), .up = runner.matrix({1, 1, 2, -1}, 2), .first = 2}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(adapters)

BOOST_AUTO_TEST_CASE(are_added_to_their_columns) {
  products runner;
  const cpu::projection merged{.weights = runner.matrix({4, 2, 0, 4, 5, 6, 8, 11, 10, 12, 11, 14}),
                               .bias = {1, 0, 0, -1}};
  const numbers x{1, 2, 3, -1, 0, 2, 5, 4, -3};
  BOOST_TEST(runner(adapted(runner), x) == runner(merged, x), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(read_rows_that_are_normed_as_the_product_reads_them) {
  products runner;
  const cpu::norm norm({.name = "norm", .epsilon = 0.5}, {0.5F, 2, -1});
  for (const auto& x : {numbers{1, 2, 3}, numbers{1, 2, 3, -1, 0, 2, 5, 4, -3}})
    BOOST_TEST(runner(adapted(runner), x, norm) == runner(adapted(runner), runner.normed(norm, x)),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
