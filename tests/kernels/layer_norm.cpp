#include "network/kernels/layer_norm.hpp"

#include "oracle.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>

namespace cogen::kernels {
namespace {

BOOST_AUTO_TEST_SUITE(layer_norm_test)

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle_and_treats_each_row_alone) {
  worker_pool workers(2);
  for (const std::int64_t width : {1, 3, 24, 72, 576, 1000})
    for_each_set(workers, [&](const execution& run) {
      const std::int64_t rows = 40;
      std::vector<float> x = random_floats(static_cast<std::size_t>(rows * width), 1);
      for (auto& value : x) value += 3.0F;
      const std::vector<float> weight = random_floats(static_cast<std::size_t>(width), 2);
      const std::vector<float> bias = random_floats(static_cast<std::size_t>(width), 3);
      std::vector<float> out(x.size()), alone = x;
      layer_norm_operands operands{.x = {x.data(), width},
                                   .weight = weight.data(),
                                   .bias = bias.data(),
                                   .epsilon = 1e-5F,
                                   .out = {out.data(), width},
                                   .rows = rows,
                                   .width = width};
      layer_norm(run, operands);
      const at::Tensor away = tensor(x, {rows, width}) - tensor(x, {rows, width}).mean(1, true);
      const at::Tensor normed = away * (away.pow(2).mean(1, true) + 1e-5).rsqrt();
      BOOST_TEST(error_of(out, normed * tensor(weight, {width}) + tensor(bias, {width})) < 2e-6);
      operands.rows = 1;
      for (std::int64_t row = 0; row < rows; ++row) {
        operands.out.data = alone.data() + row * width;
        operands.x.data = operands.out.data;
        layer_norm(run, operands);
      }
      BOOST_TEST(std::memcmp(out.data(), alone.data(), out.size() * sizeof(float)) == 0);
    });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(1);
  const std::vector<float> x = random_floats(3 * 75, 1), weight = random_floats(75, 2), bias = random_floats(75, 3);
  check_emulations(workers, [&](const execution& run) {
    std::vector<float> out(x.size());
    layer_norm(run, {.x = {x.data(), 75},
                     .weight = weight.data(),
                     .bias = bias.data(),
                     .epsilon = 1e-5F,
                     .out = {out.data(), 75},
                     .rows = 3,
                     .width = 75});
    return out;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
