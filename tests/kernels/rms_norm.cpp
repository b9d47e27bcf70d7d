#include "network/kernels/rms_norm.hpp"

#include "oracle.hpp"
#include "variants.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>

namespace cogen::kernels {
namespace {

BOOST_AUTO_TEST_SUITE(rms_norm_test)

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle_and_treats_each_row_alone) {
  worker_pool workers(2);
  for (const std::int64_t width : {1, 3, 24, 72, 576, 1000})
    for_each_set(workers, [&](const execution& run) {
      const std::int64_t rows = 40;
      std::vector<float> x = random_floats(static_cast<std::size_t>(rows * width), 1);
      const std::vector<float> weight = random_floats(static_cast<std::size_t>(width), 2);
      std::vector<float> out(x.size()), alone(x.size());
      rms_norm_operands operands{.x = {x.data(), width},
                                 .weight = weight.data(),
                                 .weight_offset = 1.0F,
                                 .epsilon = 1e-5F,
                                 .out = {out.data(), width},
                                 .rows = rows,
                                 .width = width};
      rms_norm(run, operands);
      const at::Tensor input = tensor(x, {rows, width});
      const at::Tensor scale = (input.pow(2).mean(1, true) + 1e-5).rsqrt();
      BOOST_TEST(error_of(out, input * scale * (tensor(weight, {width}) + 1.0)) < 1e-6);
      operands.rows = 1;
      for (std::int64_t row = 0; row < rows; ++row) {
        operands.x.data = x.data() + row * width;
        operands.out.data = alone.data() + row * width;
        rms_norm(run, operands);
      }
      BOOST_TEST(std::memcmp(out.data(), alone.data(), out.size() * sizeof(float)) == 0);
    });
}

BOOST_AUTO_TEST_CASE(a_residual_is_added_first_and_kept) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> input = random_floats(3 * 50, 1), add = random_floats(3 * 50, 2);
    std::vector<float> x = input, out(3 * 50);
    const std::vector<float> weight(50, 1.0F);
    rms_norm(run, {.x = {x.data(), 50},
                   .add = {add.data(), 50},
                   .weight = weight.data(),
                   .epsilon = 1e-6F,
                   .out = {out.data(), 50},
                   .rows = 3,
                   .width = 50});
    for (std::size_t index = 0; index < x.size(); ++index) BOOST_REQUIRE(x[index] == input[index] + add[index]);
    const at::Tensor sum = tensor(x, {3, 50});
    BOOST_TEST(error_of(out, sum * (sum.pow(2).mean(1, true) + 1e-6).rsqrt()) < 1e-6);
  });
}

BOOST_AUTO_TEST_CASE(vectors_of_a_row_are_normed_each_by_itself) {
  worker_pool workers(2);
  const std::int64_t rows = 9, vectors = 5, width = 12, stride = 100;
  const std::vector<float> weight = random_floats(width, 2);
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> input = random_floats(rows * stride, 1);
    std::vector<float> x = input, expected = input;
    rms_norm_operands operands{.x = {x.data(), stride}, .weight = weight.data(), .out = {x.data(), stride}};
    operands.rows = rows;
    operands.vectors = vectors;
    operands.width = width;
    rms_norm(run, operands);
    operands.rows = operands.vectors = 1;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t vector = 0; vector < vectors; ++vector) {
        operands.x.data = operands.out.data = expected.data() + row * stride + vector * width;
        rms_norm(run, operands);
      }
    BOOST_TEST(std::memcmp(x.data(), expected.data(), x.size() * sizeof(float)) == 0);
    BOOST_TEST(x[vectors * width] == input[vectors * width]);
  });
}

BOOST_AUTO_TEST_CASE(a_norm_may_be_added_to_what_is_there) {
  worker_pool workers(1);
  for_each_set(workers, [&](const execution& run) {
    std::vector<float> x = random_floats(3 * 50, 1), out(3 * 50);
    const std::vector<float> weight = random_floats(50, 2), residual = random_floats(3 * 50, 3);
    std::vector<float> sum = residual;
    rms_norm_operands operands{
        .x = {x.data(), 50}, .weight = weight.data(), .out = {out.data(), 50}, .rows = 3, .width = 50};
    rms_norm(run, operands);
    operands.out.data = sum.data();
    operands.add_to_out = true;
    rms_norm(run, operands);
    for (std::size_t index = 0; index < sum.size(); ++index) BOOST_REQUIRE(sum[index] == residual[index] + out[index]);
  });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(1);
  const std::vector<float> x = random_floats(3 * 75, 1), weight = random_floats(75, 2);
  check_emulations(workers, [&](const execution& run) {
    std::vector<float> sum = x, out(x.size());
    rms_norm(run, {.x = {sum.data(), 75},
                   .add = {x.data(), 75},
                   .weight = weight.data(),
                   .weight_offset = 1.0F,
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
