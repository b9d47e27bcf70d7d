// Products of weights in 8-bit floats, whose rows are rounded to such numbers where there are many.
#include "network/backend/fp8_product.hpp"

#include "network/backend/reference/reference_operators.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>

namespace cogen::device {
namespace {

using kernels::weight_packing;

constexpr std::int64_t inputs = 96, outputs = 48;

double distance(const at::Tensor& received, const at::Tensor& expected) {
  const auto exact = expected.to(at::kDouble);
  return ((received.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

/// Rows of different sizes, one of them of zeros.
at::Tensor some_rows(std::int64_t count) {
  const auto rows = at::randn({count, inputs}) * at::randn({count, 1}).exp();
  rows.select(0, 5).zero_();
  return rows;
}

projection product_of(const quantized_rows& rows) {
  return {.weights = rows.codes, .scales = rows.scales, .packing = rows.packing};
}

at::Tensor product(const at::Tensor& x, const projection& layer) {
  reference_operators ops;
  auto y = at::empty({x.size(0), layer.weights.size(0)});
  static_cast<operators&>(ops).norm_linear(x, {}, layer, y);
  return y;
}

/// The number of 8 bits that is nearest, one by one.
at::Tensor nearest(const at::Tensor& x) {
  const auto bytes = at::arange(256).to(at::kByte).view(at::kFloat8_e4m3fn).to(at::kFloat);
  const auto values = bytes.index({bytes.isfinite()});
  const auto rounded = at::empty(x.sizes());
  for (std::int64_t row = 0; row < x.size(0); ++row)
    for (std::int64_t column = 0; column < x.size(1); ++column)
      rounded[row][column] = values[(values - x[row][column]).abs().argmin().item<std::int64_t>()];
  return rounded;
}

BOOST_AUTO_TEST_SUITE(fp8_products)

BOOST_AUTO_TEST_CASE(many_rows_of_whole_sixteens_are_rounded) {
  const auto rounds = [](std::int64_t rows, std::int64_t width, std::int64_t results, weight_packing packing) {
    const projection layer{.weights = at::empty({results, width}), .packing = packing};
    return rounds_rows(at::empty({rows, width}), layer);
  };
  using enum weight_packing;
  BOOST_TEST(rounds(max_unrounded_rows + 1, 32, 48, fp8));
  BOOST_TEST(!rounds(max_unrounded_rows, 32, 48, fp8));
  BOOST_TEST(!rounds(100, 40, 48, fp8));
  BOOST_TEST(!rounds(100, 32, 40, fp8));
  BOOST_TEST(!rounds(100, 32, 48, int8));
  BOOST_TEST(!rounds(100, 32, 48, whole));
}

BOOST_AUTO_TEST_CASE(rows_have_the_nearest_numbers_by_a_scale_of_their_own) {
  const auto rows = some_rows(7);
  const auto scales = rows.abs().amax(1, true) / 448;
  const auto expected = nearest(rows / scales.clamp_min(1e-30)) * scales;
  BOOST_TEST((rounded_rows(rows) - expected).abs().max().item<float>() < 1e-6F * rows.abs().max().item<float>());
}

BOOST_AUTO_TEST_CASE(a_row_with_what_is_not_finite_has_no_finite_result) {
  const auto weights = product_of(quantize_in_fp8(at::randn({outputs, inputs}), at::kFloat));
  const auto clean = some_rows(40);
  for (const double bad : {INFINITY, -INFINITY, NAN}) {
    const auto rows = clean.clone();
    rows[3][17] = bad;
    const auto results = product(rows, weights), expected = product(clean, weights);
    for (std::int64_t row = 0; row < 40; ++row) {
      if (row == 3)
        BOOST_TEST(!results[row].isfinite().any().item<bool>());
      else
        BOOST_TEST(results[row].equal(expected[row]));
    }
  }
}

BOOST_AUTO_TEST_CASE(products_multiply_rounded_rows_where_there_are_many) {
  const auto weights = quantize_in_fp8(at::randn({outputs, inputs}), at::kFloat);
  const auto numbers = weights.codes.to(at::kDouble) * weights.scales.unsqueeze(1);
  const auto few = some_rows(max_unrounded_rows), many = some_rows(max_unrounded_rows + 1);
  const auto exact = [&](const at::Tensor& rows) { return at::matmul(rows.to(at::kDouble), numbers.t()); };
  BOOST_TEST(distance(product(few, product_of(weights)), exact(few)) < 1e-6);
  BOOST_TEST(distance(product(many, product_of(weights)), exact(rounded_rows(many))) < 1e-6);
  const double off = distance(product(many, product_of(weights)), exact(many));
  BOOST_TEST(off > 5e-3);
  BOOST_TEST(off < 5e-2);
}

BOOST_AUTO_TEST_CASE(codes_and_scales_are_where_they_were_packed) {
  for (const auto type : {at::kBFloat16, at::kHalf, at::kFloat}) {
    const auto weights = quantize_in_fp8(at::randn({outputs, inputs}), type);
    const auto layer = product_of(packed(weights));
    const auto [codes, scales, packing] = codes_of(layer, inputs);
    BOOST_TEST(codes.view(at::kByte).equal(weights.codes.view(at::kByte)), type);
    BOOST_TEST(codes.const_data_ptr() == layer.weights.const_data_ptr());
    BOOST_TEST(codes.stride(1) == 1);
    BOOST_TEST(codes.stride(0) % 16 == 0);
    BOOST_TEST(scales.equal(weights.scales.to(at::kFloat)), type);
    BOOST_TEST(scales.const_data_ptr() == layer.scales.const_data_ptr());
    BOOST_TEST(scales.is_contiguous());
  }
}

/// On a processor LibTorch has products of one row by one.
BOOST_AUTO_TEST_CASE(codes_multiplied_by_codes_give_what_they_stand_for) {
  const auto weights = quantize_in_fp8(at::randn({1, inputs}), at::kBFloat16);
  const auto row = quantize_in_fp8(at::randn({1, inputs}), at::kFloat);
  const auto y = at::empty({1, 1}, at::kBFloat16);
  multiply_in_fp8(row, product_of(packed(weights)), y);
  const auto numbers = [](const quantized_rows& rows) { return rows.codes.to(at::kDouble) * rows.scales.unsqueeze(1); };
  BOOST_TEST(distance(y, at::matmul(numbers(row), numbers(weights).t())) < 4e-3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::device
