#include "linear_problem.hpp"
#include "network/kernels/activation.hpp"
#include "network/kernels/rms_norm.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <limits>

namespace cogen::kernels {
namespace {

/// Copies rows, and counts how often each is asked for.
class copied_rows final : public prologue {
 public:
  copied_rows(const linear_problem& source, std::vector<float>& target)
      : counts(static_cast<std::size_t>(source.rows)), source_(source), target_(target) {}

  void make(std::int64_t row) const override {
    const std::int64_t inputs = source_.packed.inputs();
    ++counts[static_cast<std::size_t>(row)];
    std::copy_n(source_.x.data() + row * inputs, inputs, target_.data() + row * inputs);
  }

  mutable std::vector<std::atomic<int>> counts;

 private:
  const linear_problem& source_;
  std::vector<float>& target_;
};

std::vector<float> product_of(const execution& run, const linear_problem& weights, const std::vector<float>& x,
                              const prologue* maker) {
  std::vector<float> y(static_cast<std::size_t>(weights.rows * weights.packed.outputs()));
  std::vector<float> scratch(static_cast<std::size_t>(linear_scratch_floats(run, weights.packed, weights.rows)));
  linear(run, weights.packed,
         {.x = {x.data(), weights.packed.inputs()},
          .maker = maker,
          .y = {y.data(), weights.packed.outputs()},
          .rows = weights.rows,
          .scratch = scratch.data()});
  return y;
}

/// Runs check(run, problem) in both modes, for some formats and numbers of rows, on each instruction set.
template <class Check>
void for_each_product(worker_pool& workers, Check check) {
  for (const element_type format : {element_type::f32, element_type::bf16, element_type::q4_1, element_type::q8_0})
    for (const std::int64_t rows : {1, 2, 8, 40, 130})
      for_each_set(workers, [&](execution run) {
        const linear_problem layer(format, rows, 100, 192, workers);
        for (const compute_type mode : {compute_type::float32, compute_type::int8}) {
          run.mode = mode;
          BOOST_TEST_CONTEXT(to_string(format) << ", " << rows << " rows") check(run, layer);
        }
      });
}

/// The product of rows that lie in `x` is that of rows which the maker puts there anew.
void check_made_again(const execution& run, const linear_problem& layer, std::vector<float>& x, const prologue& maker) {
  const std::vector<float> expected = product_of(run, layer, x, nullptr);
  std::ranges::fill(x, 0.0F);
  const std::vector<float> y = product_of(run, layer, x, &maker);
  BOOST_TEST(same_bits(y.data(), expected.data(), std::ssize(y)));
}

BOOST_AUTO_TEST_SUITE(row_maker_test)

BOOST_AUTO_TEST_CASE(a_product_makes_each_row_once_and_before_it_is_read) {
  worker_pool workers(2);
  for_each_product(workers, [](const execution& run, const linear_problem& layer) {
    std::vector<float> x(layer.x.size(), std::numeric_limits<float>::quiet_NaN());
    const copied_rows rows(layer, x);
    const std::vector<float> y = product_of(run, layer, x, &rows);
    BOOST_TEST(same_bits(y.data(), layer.multiply(run).data(), std::ssize(y)));
    for (const auto& times : rows.counts) BOOST_REQUIRE(times == 1);
  });
}

BOOST_AUTO_TEST_CASE(a_product_of_normed_rows_is_the_norm_and_then_the_product) {
  worker_pool workers(2);
  for_each_product(workers, [](const execution& run, const linear_problem& layer) {
    std::vector<float> input = layer.x, x(input.size());
    const std::vector<float> weight = random_floats(192, 5);
    const rms_norm_operands operands{
        .x = {input.data(), 192}, .weight = weight.data(), .out = {x.data(), 192}, .rows = layer.rows, .width = 192};
    rms_norm(run, operands);
    check_made_again(run, layer, x, rms_norm_rows(run, operands));
  });
}

BOOST_AUTO_TEST_CASE(a_product_of_activated_rows_is_the_activation_and_then_the_product) {
  worker_pool workers(2);
  for_each_product(workers, [](const execution& run, const linear_problem& layer) {
    const std::vector<float> factor = random_floats(layer.x.size(), 6);
    std::vector<float> x(layer.x.size());
    const activation_operands operands{.x = {layer.x.data(), 192},
                                       .factor = {factor.data(), 192},
                                       .out = {x.data(), 192},
                                       .rows = layer.rows,
                                       .width = 192};
    activate(run, operands);
    check_made_again(run, layer, x, activated_rows(run, operands));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
