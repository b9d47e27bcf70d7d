#include "network/kernels/quantize_rows_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <span>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

// Rows as they are quantized.
struct rounded_rows {
  std::vector<float> codes;  // as numbers
  std::vector<float> scales;
};

rounded_rows quantized(number type, const std::vector<float>& x, int rows) {
  const device_numbers input(type, x), codes(number::fp8, x.size());
  const device_numbers scales(number::f32, static_cast<std::size_t>(rows));
  device_stream stream;
  quantize_rows({.x = input.data(),
                 .type = type,
                 .codes = codes.data(),
                 .scales = reinterpret_cast<float*>(scales.data()),
                 .rows = rows,
                 .width = static_cast<int>(x.size()) / rows},
                stream);
  return {codes.read(), scales.read()};
}

// By their codes.
const std::vector<float>& numbers_of_8_bits() {
  static const auto numbers = [] {
    std::vector<std::byte> codes;
    for (unsigned code = 0; code < 256; ++code) codes.push_back(static_cast<std::byte>(code));
    return decoded(number::fp8, codes);
  }();
  return numbers;
}

// Of two as near, the one whose code is even.
float nearest(double x) {
  const auto& numbers = numbers_of_8_bits();
  std::size_t best = 0;
  for (std::size_t code = 0; code < numbers.size(); ++code) {
    const double off = std::abs(numbers[code] - x), least = std::abs(numbers[best] - x);
    if (off < least || (off == least && code % 2 == 0 && best % 2 == 1)) best = code;
  }
  return numbers[best];
}

void check_row(std::span<const float> x, std::span<const float> codes, float scale) {
  float largest = 0;
  for (const float each : x) largest = std::max(largest, std::abs(each));
  BOOST_TEST(scale == largest / 448);
  for (std::size_t index = 0; index < x.size(); ++index)
    BOOST_REQUIRE_EQUAL(codes[index], scale == 0 ? 0.0F : nearest(x[index] / scale));
}

void check_rows(number type, const std::vector<float>& x, int rows) {
  const auto result = quantized(type, x, rows);
  const auto width = x.size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < result.scales.size(); ++row)
    check_row(std::span(x).subspan(row * width, width), std::span(result.codes).subspan(row * width, width),
              result.scales[row]);
}

BOOST_AUTO_TEST_SUITE(cuda_quantize_rows_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(codes_are_the_nearest_by_a_scale_of_the_row) {
  std::uint32_t stream = 3000;
  for (const number type : half_types)
    for (const int width : {16, 48, 576, 4096, 14336})
      for (const int rows : {1, 3}) {
        random_source random(++stream);
        auto x = random.normals(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width));
        const auto of_row = static_cast<std::size_t>(width);
        for (std::size_t index = 0; index < x.size(); ++index) x[index] *= index / of_row == 1 ? 900.0F : 0.03F;
        check_rows(type, rounded_to(type, x), rows);
      }
}

BOOST_AUTO_TEST_CASE(rows_of_zeros_and_of_the_largest_numbers_are_rounded_as_others_are) {
  for (const number type : half_types) {
    const float most = type == number::f16 ? 65504.0F : 3.3e38F;
    std::vector<float> x(3 * 32);
    for (std::size_t index = 32; index < 64; ++index)
      x[index] = index % 2 == 0 ? most : -most / static_cast<float>(index);
    x[64] = -1;
    check_rows(type, rounded_to(type, x), 3);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_stays_so_in_its_row_alone) {
  for (const number type : half_types)
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      std::vector<float> x(3 * 64, 1);
      x[64 + 40] = bad;
      const auto result = quantized(type, x, 3);
      BOOST_TEST(!std::isfinite(result.codes[64 + 40] * result.scales[1]));
      for (const std::size_t row : {0, 2}) {
        BOOST_TEST(result.scales[row] == 1.0F / 448);
        for (std::size_t column = 0; column < 64; ++column) BOOST_TEST(result.codes[row * 64 + column] == 448);
      }
    }
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  quantize_rows({.rows = 0, .width = 16}, nullptr);
  BOOST_TEST((cudaDeviceSynchronize() == cudaSuccess));
  BOOST_CHECK_THROW(quantize_rows({.rows = 1, .width = 0}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(quantize_rows({.rows = 1, .width = 24}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(quantize_rows({.type = number::f32, .rows = 1, .width = 16}, nullptr), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
