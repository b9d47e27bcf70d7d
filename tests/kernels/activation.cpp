#include "kernels/activation.hpp"

#include "oracle.hpp"
#include "variants.hpp"

#include <ATen/ops/silu.h>
#include <boost/test/unit_test.hpp>

#include <cmath>

namespace cogen::kernels {
namespace {

std::vector<float> silu_mul_of(const execution& run, const std::vector<float>& gate_up, std::int64_t rows,
                               std::int64_t width) {
  std::vector<float> out(static_cast<std::size_t>(rows * width));
  silu_mul(run, {.gate_up = gate_up.data(),
                 .gate_up_stride = 2 * width,
                 .out = out.data(),
                 .out_stride = width,
                 .rows = rows,
                 .width = width});
  return out;
}

BOOST_AUTO_TEST_SUITE(activation_test)

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle) {
  worker_pool workers(2);
  for (const std::int64_t width : {1, 7, 72, 1536})
    for_each_set(workers, [&](const execution& run) {
      const std::vector<float> gate_up = random_floats(static_cast<std::size_t>(5 * 2 * width), 1, 4.0F);
      const at::Tensor both = tensor(gate_up, {5, 2, width});
      BOOST_TEST(error_of(silu_mul_of(run, gate_up, 5, width), at::silu(both.select(1, 0)) * both.select(1, 1)) < 1e-6);
    });
}

BOOST_AUTO_TEST_CASE(the_exponential_is_accurate_over_its_whole_range) {
  worker_pool workers(1);
  constexpr std::size_t count = 4000;
  std::vector<float> gate_up(2 * count, 1.0F);
  for (std::size_t at = 0; at < count; ++at) gate_up[at] = static_cast<float>(at) * 0.05F - 86.0F;
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> out = silu_mul_of(run, gate_up, 1, count);
    for (std::size_t at = 0; at < count; ++at) {
      const double gate = gate_up[at];
      const double wanted = gate / (1.0 + std::exp(-gate));
      BOOST_REQUIRE(std::abs(out[at] - wanted) <= std::abs(wanted) * 4e-7);
    }
  });
}

BOOST_AUTO_TEST_CASE(extremes_stay_what_they_are) {
  worker_pool workers(1);
  const float infinity = INFINITY;
  const std::vector<float> gate_up = {1000.0F, -1000.0F, 0.0F, std::nanf(""), infinity, 1, 1, 1, 1, 1};
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> out = silu_mul_of(run, gate_up, 1, 5);
    BOOST_TEST(out[0] == 1000.0F);
    BOOST_TEST(std::abs(out[1]) < 1e-30F);
    BOOST_TEST(out[2] == 0.0F);
    BOOST_TEST(std::isnan(out[3]));
    BOOST_TEST(out[4] == infinity);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
