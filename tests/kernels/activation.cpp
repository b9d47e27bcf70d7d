#include "network/kernels/activation.hpp"

#include "oracle.hpp"
#include "variants.hpp"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>

namespace cogen::kernels {
namespace {

constexpr std::array kinds{activation::silu, activation::gelu, activation::gelu_tanh, activation::relu};

at::Tensor oracle(activation kind, const at::Tensor& x) {
  if (kind == activation::silu) return at::silu(x);
  if (kind == activation::relu) return at::relu(x);
  return at::gelu(x, kind == activation::gelu ? "none" : "tanh");
}

double exact(activation kind, double x) {
  if (kind == activation::silu) return x / (1.0 + std::exp(-x));
  if (kind == activation::relu) return std::max(x, 0.0);
  if (kind == activation::gelu) return x / 2 * std::erfc(-x / std::sqrt(2.0));
  return x / (1.0 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

// Each row of x_factor holds `width` values, then `width` factors.
std::vector<float> activated(const execution& run, activation kind, const std::vector<float>& x_factor,
                             std::int64_t rows, std::int64_t width) {
  std::vector<float> out(static_cast<std::size_t>(rows * width));
  activate(run, {.kind = kind,
                 .x = {x_factor.data(), 2 * width},
                 .factor = {x_factor.data() + width, 2 * width},
                 .out = {out.data(), width},
                 .rows = rows,
                 .width = width});
  return out;
}

std::vector<float> activated(const execution& run, activation kind, std::vector<float> x) {
  const auto width = static_cast<std::int64_t>(x.size());
  activate(run, {.kind = kind, .x = {x.data(), width}, .out = {x.data(), width}, .rows = 1, .width = width});
  return x;
}

BOOST_AUTO_TEST_SUITE(activation_test)

BOOST_AUTO_TEST_CASE(squares_sigmoids_caps_and_xielu_agree_with_their_formulas) {
  worker_pool workers(1);
  constexpr std::array<float, 4> parameters{0.8F, 0.9F, 0.5F, -1e-6F};  // p, n, b, e
  std::vector<float> x(6000);
  for (std::size_t index = 0; index < x.size(); ++index) x[index] = static_cast<float>(index) * 0.003F - 9.0F;
  const auto wanted = [&](activation kind, double value) {
    if (kind == activation::relu_squared) return std::max(value, 0.0) * std::max(value, 0.0);
    if (kind == activation::sigmoid) return 1 / (1 + std::exp(-value));
    if (kind == activation::softcap) return parameters[0] * std::tanh(value / parameters[0]);
    if (value > 0) return parameters[0] * value * value + parameters[2] * value;
    return parameters[1] * (std::expm1(std::min<double>(value, parameters[3])) - value) + parameters[2] * value;
  };
  const std::int64_t width = std::ssize(x);
  for (const auto kind : {activation::relu_squared, activation::sigmoid, activation::softcap, activation::xielu})
    for_each_set(workers, [&](const execution& run) {
      std::vector<float> out(x.size());
      activate(run, {.kind = kind,
                     .x = {x.data(), width},
                     .out = {out.data(), width},
                     .rows = 1,
                     .width = width,
                     .parameters = parameters.data()});
      for (std::size_t index = 0; index < x.size(); ++index) {
        const double exact = wanted(kind, x[index]);
        BOOST_REQUIRE_MESSAGE(std::abs(out[index] - exact) <= 3e-7 * (1 + std::abs(exact)),
                              x[index] << " gives " << out[index]);
      }
    });
}

BOOST_AUTO_TEST_CASE(swiglu_oai_cuts_both_of_its_numbers) {
  worker_pool workers(1);
  constexpr std::array<float, 4> parameters{1.702F, 1.5F};  // a, l
  std::vector<float> x(4000), factor(4000);
  for (std::size_t index = 0; index < x.size(); ++index) {
    x[index] = static_cast<float>(index) * 0.005F - 10;
    factor[index] = static_cast<float>(index * 7 % 4000) * 0.002F - 4;
  }
  x.back() = std::nanf("");
  const std::int64_t width = std::ssize(x);
  for_each_set(workers, [&](const execution& run) {
    std::vector<float> out(x.size());
    activate(run, {.kind = activation::swiglu_oai,
                   .x = {x.data(), width},
                   .factor = {factor.data(), width},
                   .out = {out.data(), width},
                   .rows = 1,
                   .width = width,
                   .parameters = parameters.data()});
    for (std::size_t index = 0; index + 1 < x.size(); ++index) {
      const double gate = std::min(x[index], 1.5F), up = std::clamp(factor[index], -1.5F, 1.5F);
      const double exact = (up + 1) * gate / (1 + std::exp(-double{parameters[0]} * gate));
      BOOST_REQUIRE_MESSAGE(std::abs(out[index] - exact) <= 3e-7 * (1 + std::abs(exact)),
                            x[index] << " gives " << out[index]);
    }
    BOOST_TEST(std::isnan(out.back()));
  });
}

BOOST_AUTO_TEST_CASE(agrees_with_the_oracle) {
  worker_pool workers(2);
  for (const auto kind : kinds)
    for (const std::int64_t width : {1, 7, 72, 1536})
      for_each_set(workers, [&](const execution& run) {
        const std::vector<float> x_factor = random_floats(static_cast<std::size_t>(5 * 2 * width), 1, 4.0F);
        const at::Tensor both = tensor(x_factor, {5, 2, width});
        const auto wanted = oracle(kind, both.select(1, 0)) * both.select(1, 1);
        BOOST_TEST(error_of(activated(run, kind, x_factor, 5, width), wanted) < 1e-6);
      });
}

BOOST_AUTO_TEST_CASE(is_accurate_beside_its_input_everywhere_and_in_itself_where_it_counts) {
  worker_pool workers(1);
  std::vector<float> x(6000);
  for (std::size_t index = 0; index < x.size(); ++index) x[index] = static_cast<float>(index) * 0.003F - 9.0F;
  for (const auto kind : kinds)
    for_each_set(workers, [&](const execution& run) {
      const std::vector<float> out = activated(run, kind, x);
      for (std::size_t index = 0; index < x.size(); ++index) {
        const double wanted = exact(kind, x[index]);
        const double error = std::abs(out[index] - wanted);
        BOOST_REQUIRE_MESSAGE(error <= std::abs(x[index]) * 2e-7,
                              x[index] << " gives " << out[index] << ", not " << wanted);
        if (x[index] > -3) BOOST_REQUIRE_MESSAGE(error <= std::abs(wanted) * 1e-6, x[index] << " gives " << out[index]);
      }
    });
}

BOOST_AUTO_TEST_CASE(the_exponential_is_accurate_over_its_whole_range) {
  worker_pool workers(1);
  constexpr std::size_t count = 4000;
  std::vector<float> x(count);
  for (std::size_t index = 0; index < count; ++index) x[index] = static_cast<float>(index) * 0.05F - 86.0F;
  for_each_set(workers, [&](const execution& run) {
    const std::vector<float> out = activated(run, activation::silu, x);
    for (std::size_t index = 0; index < count; ++index) {
      const double wanted = exact(activation::silu, x[index]);
      BOOST_REQUIRE(std::abs(out[index] - wanted) <= std::abs(wanted) * 4e-7);
    }
  });
}

BOOST_AUTO_TEST_CASE(extremes_stay_what_they_are) {
  worker_pool workers(1);
  const float infinity = INFINITY;
  for (const auto kind : kinds)
    for_each_set(workers, [&](const execution& run) {
      const std::vector<float> out = activated(run, kind, {1000.0F, -1000.0F, 0.0F, std::nanf(""), infinity, 1e20F});
      BOOST_TEST(out[0] == 1000.0F);
      BOOST_TEST(std::abs(out[1]) < 1e-30F);
      BOOST_TEST(out[2] == 0.0F);
      BOOST_TEST(std::isnan(out[3]));
      BOOST_TEST(out[4] == infinity);
      BOOST_TEST(out[5] == 1e20F);
    });
}

BOOST_AUTO_TEST_CASE(emulations_compute_the_same_bits) {
  worker_pool workers(2);
  const std::vector<float> x = random_floats(2 * 3 * 523, 5, 8.0F);
  for (const auto kind : kinds)
    check_emulations(workers, [&](const execution& run) { return activated(run, kind, x, 3, 523); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels
