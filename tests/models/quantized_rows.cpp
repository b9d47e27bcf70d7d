#include "../kernels/quantized_rows.hpp"

#include "formats/checkpoint/dequantize.hpp"
#include "network/backend/quantized_rows.hpp"
#include "network/backend/stored_rows.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

namespace cogen::device {
namespace {

using kernels::weight_packing;

constexpr weight_packing packings[] = {
    weight_packing::int8,       weight_packing::int4,       weight_packing::int5,
    weight_packing::int6,       weight_packing::int6_zeros, weight_packing::int8_groups,
    weight_packing::int8_zeros, weight_packing::mxfp4,      weight_packing::fp8};

constexpr float e2m1_numbers[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};

/// What a code stands for without its scale.
float value_of(const quantized_rows& rows, std::int64_t row, std::int64_t column) {
  const auto form = kernels::form_of(rows.packing);
  const int code = rows.codes[row][column].item<int>();
  return form.e2m1 ? e2m1_numbers[code] : static_cast<float>(code - form.middle());
}

/// The numbers of rows with groups.
at::Tensor unpacked(const quantized_rows& rows) {
  const auto scales = rows.scales.to(at::kFloat);
  auto values = at::empty(rows.codes.sizes(), at::kFloat);
  for (std::int64_t row = 0; row < values.size(0); ++row)
    for (std::int64_t column = 0; column < values.size(1); ++column) values[row][column] = value_of(rows, row, column);
  auto groups = values.unflatten(1, {scales.size(1), kernels::form_of(rows.packing).group}) * scales.narrow(2, 0, 1);
  if (kernels::form_of(rows.packing).zeros) groups = groups + scales.narrow(2, 1, 1);
  return groups.flatten(1);
}

BOOST_AUTO_TEST_SUITE(packed_rows_test)

BOOST_AUTO_TEST_CASE(numbers_in_8_bits_are_off_by_half_a_step) {
  auto numbers = at::randn({7, 96}) * at::randn({7, 1}).exp();
  numbers.select(0, 3).zero_();
  const auto quantized = quantize_in_8_bits(numbers, at::kFloat);
  BOOST_TEST(quantized.codes.scalar_type() == at::kChar);
  const auto back = quantized.codes.to(at::kFloat) * quantized.scales.unsqueeze(1);
  BOOST_TEST(((back - numbers).abs() <= quantized.scales.unsqueeze(1) * 0.5001F).all().item<bool>());
  BOOST_TEST(quantized.codes.to(at::kInt).abs().amax(1).select(0, 0).item<int>() == 127);
  BOOST_TEST(back.select(0, 3).abs().max().item<float>() == 0);
}

BOOST_AUTO_TEST_CASE(numbers_in_8_bit_floats_are_off_by_half_a_step) {
  auto numbers = at::randn({7, 96}) * at::randn({7, 1}).exp();
  numbers.select(0, 3).zero_();
  const auto quantized = quantize_in_fp8(numbers, at::kFloat);
  BOOST_TEST(quantized.codes.scalar_type() == at::kFloat8_e4m3fn);
  const auto codes = quantized.codes.to(at::kFloat), scales = quantized.scales.unsqueeze(1);
  BOOST_TEST(codes.abs().amax(1).select(0, 0).item<float>() == 448);
  const auto off = (codes * scales - numbers).abs();
  const auto half_step = at::maximum(numbers.abs() / 16, scales / 1024);  // of 4 bits, or of the smallest numbers
  BOOST_TEST((off <= half_step * 1.0001F).all().item<bool>());
  BOOST_TEST(codes.select(0, 3).abs().max().item<float>() == 0);
}

BOOST_AUTO_TEST_CASE(numbers_in_4_bits_are_off_by_half_a_step_of_their_group) {
  auto numbers = at::randn({5, 128}) * at::randn({5, 1}).exp() + at::randn({5, 1});
  numbers.select(0, 2).fill_(3);
  const auto quantized = quantize_in_4_bits(numbers, at::kFloat);
  BOOST_TEST(quantized.codes.to(at::kInt).max().item<int>() == 15);
  const auto steps = quantized.scales.select(2, 0).repeat_interleave(quantized_group, 1);
  const auto off = (unpacked(quantized) - numbers).abs();
  BOOST_TEST((off <= steps * 0.5001F + 1e-6F).all().item<bool>());
  BOOST_CHECK_THROW(quantize_in_4_bits(at::zeros({1, 40}), at::kFloat), std::invalid_argument);
}

kernels::encoder_rows random_rows(element_type type) { return kernels::random_rows(type, 3, 512, 7); }

weight_packing packing_of_both(element_type type, element_type other) {
  const element_type both[] = {type, other};
  return packing_of(both).value();
}

BOOST_AUTO_TEST_CASE(what_files_keep_in_codes_has_the_same_numbers_beside_any_other) {
  for (const auto type : kernels::integer_formats) {
    const auto rows = random_rows(type);
    std::vector<float> numbers(rows.values.size());
    load::dequantize(type, rows.bytes, numbers);
    const auto expected = at::from_blob(numbers.data(), {rows.rows, rows.inputs});
    for (const auto other : kernels::integer_formats) {
      const auto read = make_quantized_rows(packing_of_both(type, other), rows.rows, rows.inputs, at::kFloat);
      read_stored_rows(type, rows.bytes, read);
      BOOST_TEST((unpacked(read) - expected).abs().max().item<float>() < 1e-6F * expected.abs().max().item<float>(),
                 to_string(type) << " beside " << to_string(other));
    }
  }
}

BOOST_AUTO_TEST_CASE(codes_are_packed_in_as_few_bits_as_hold_them) {
  const auto packed_as = [](weight_packing expected, std::initializer_list<element_type> kinds) {
    BOOST_TEST((packing_of({kinds.begin(), kinds.size()}) == expected), static_cast<int>(expected));
  };
  using enum weight_packing;
  for (const auto type : {element_type::q4_0, element_type::q4_1, element_type::q4_k}) packed_as(int4, {type});
  for (const auto type : {element_type::q5_0, element_type::q5_1, element_type::q5_k}) packed_as(int5, {type});
  for (const auto type : {element_type::q6_k, element_type::q3_k}) packed_as(int6, {type});
  for (const auto type : {element_type::q8_0, element_type::iq4_nl, element_type::iq4_xs})
    packed_as(int8_groups, {type});
  for (const auto type : {element_type::q1_0, element_type::q2_0, element_type::tq1_0, element_type::tq2_0})
    packed_as(int4, {type});
  for (const auto type : {element_type::iq1_s, element_type::iq3_s}) packed_as(int5, {type});
  for (const auto type : {element_type::iq1_m, element_type::nvfp4}) packed_as(int6, {type});
  for (const auto type : {element_type::iq2_xxs, element_type::iq3_xxs}) packed_as(int8_groups, {type});
  for (const auto type : {element_type::iq2_xs, element_type::iq2_s}) packed_as(int8_zeros, {type});
  packed_as(int6_zeros, {element_type::q2_k});
  packed_as(mxfp4, {element_type::mxfp4, element_type::mxfp4});
  packed_as(int5, {element_type::q5_k, element_type::q4_0, element_type::q4_k});
  packed_as(int6, {element_type::q5_0, element_type::q6_k, element_type::mxfp4});
  packed_as(int6_zeros, {element_type::q4_k, element_type::q4_k, element_type::q6_k});
  packed_as(int8_groups, {element_type::q8_0, element_type::q4_0});
  packed_as(int8_zeros, {element_type::q8_0, element_type::q4_k});
  packed_as(int8_zeros, {element_type::q8_0, element_type::q6_k});
  packed_as(int4, {element_type::q4_zero});
  packed_as(int8_zeros, {element_type::q8_zero});
  packed_as(int6, {element_type::scaled_e2m1});
  for (const auto number : {element_type::f32, element_type::bf16}) {
    const element_type some[] = {element_type::q4_k, number};
    BOOST_TEST(!packing_of(some));
  }
}

/// The code of an input among the bytes of its row.
int packed_code(const at::Tensor& codes, std::int64_t row, weight_packing packing, std::int64_t inputs,
                std::int64_t input) {
  const auto bits_at = [&](const kernels::packed_code& place) {
    return codes[row][place.byte].item<int>() >> place.bit;
  };
  const int low = bits_at(kernels::packed_code_of(packing, input));
  if (packing == weight_packing::fp8) return low;
  if (kernels::form_of(packing).bits == 8) return static_cast<std::int8_t>(low);
  const int high_bits = kernels::packed_high_bits(packing);
  if (high_bits == 0) return low & 15;
  const int high = bits_at(kernels::packed_high_bits_of(packing, inputs, input)) & ((1 << high_bits) - 1);
  return (low & 15) | high << 4;
}

/// Any codes and scales.
quantized_rows any_rows(weight_packing packing, std::int64_t inputs) {
  const auto form = kernels::form_of(packing);
  auto rows = make_quantized_rows(packing, 3, inputs, at::kHalf);
  if (packing == weight_packing::fp8)
    rows.codes.view(at::kByte).random_(0, 256);
  else
    rows.codes.random_(form.bits == 8 ? -128 : 0, form.bits == 8 ? 128 : 1 << form.bits);
  rows.scales.normal_();
  return rows;
}

BOOST_AUTO_TEST_CASE(packed_codes_and_scales_are_where_kernels_read_them) {
  for (const auto packing : packings)
    for (const std::int64_t inputs : {32, 64, 96, 128, 576}) {
      const auto rows = any_rows(packing, inputs);
      const auto result = packed(rows);
      const auto codes = packing == weight_packing::fp8 ? rows.codes.view(at::kByte) : rows.codes;
      BOOST_TEST((result.packing == packing));
      BOOST_TEST(result.codes.size(1) == kernels::packed_row_bytes(packing, inputs));
      BOOST_TEST(result.codes.is_contiguous());
      for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t input = 0; input < inputs; ++input)
          BOOST_TEST(packed_code(result.codes, row, packing, inputs, input) == codes[row][input].item<int>());
      if (packing == weight_packing::fp8)
        BOOST_TEST(result.scales.view(at::kFloat).flatten().equal(rows.scales.to(at::kFloat)));
      if (!kernels::has_groups(packing)) continue;
      const auto form = kernels::form_of(packing);
      BOOST_TEST(result.scales.size(1) == kernels::packed_row_scales(packing, inputs));
      BOOST_TEST(result.scales.is_contiguous());
      for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t input = 0; input < inputs; ++input)
          for (int part = 0; part < (form.zeros ? 2 : 1); ++part)
            BOOST_TEST(result.scales[row][kernels::packed_scale_of(packing, input) + part].item<float>() ==
                       rows.scales[row][input / form.group][part].item<float>());
    }
}

BOOST_AUTO_TEST_CASE(rows_that_kernels_do_not_read_are_refused) {
  try {
    packed(quantize_in_8_bits(at::randn({2, 42}), at::kHalf));
    BOOST_FAIL("not refused");
  } catch (const std::invalid_argument& error) {
    BOOST_TEST(error.what() == "rows of 42 numbers cannot be packed; a multiple of 8 is needed");
  }
}

BOOST_AUTO_TEST_CASE(packed_rows_take_little_more_than_files) {
  const auto bits_of = [](element_type type) {
    const auto packing = packing_of({&type, 1}).value();
    constexpr std::int64_t inputs = 4096;
    return static_cast<double>(8 * kernels::packed_row_bytes(packing, inputs) +
                               16 * kernels::packed_row_scales(packing, inputs)) /
           inputs;
  };
  for (const auto type :
       {element_type::q4_0, element_type::q4_1, element_type::q4_k, element_type::q5_0, element_type::q5_1,
        element_type::q5_k, element_type::q6_k, element_type::q8_0, element_type::mxfp4}) {
    const auto [elements, bytes] = layout(type);
    BOOST_TEST(bits_of(type) < 1.12 * 8 * static_cast<double>(bytes) / static_cast<double>(elements), to_string(type));
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_have_codes) {
  const auto numbers = at::randn({6, 64});
  numbers[1][3] = NAN;
  numbers[2][40] = INFINITY;
  numbers[4][63] = -INFINITY;
  const auto in_range = [](const at::Tensor& codes, int least, int largest) {
    const auto values = codes.to(at::kInt);
    BOOST_TEST(((values >= least) & (values <= largest)).all().item<bool>());
  };
  const auto in_8_bits = quantize_in_8_bits(numbers, at::kHalf), in_4_bits = quantize_in_4_bits(numbers, at::kHalf);
  in_range(in_8_bits.codes, -127, 127);
  in_range(in_4_bits.codes, 0, 15);
  const auto in_fp8 = quantize_in_fp8(numbers, at::kHalf);
  in_range(in_fp8.codes.to(at::kFloat), -448, 448);
  for (const std::int64_t row : {1, 2, 4}) BOOST_TEST(!in_fp8.scales[row].isfinite().item<bool>());
  for (const std::int64_t row : {1, 2, 4}) BOOST_TEST(!in_8_bits.scales[row].isfinite().item<bool>());
  for (const std::int64_t row : {0, 3, 5}) BOOST_TEST(in_8_bits.scales[row].isfinite().item<bool>());
  BOOST_TEST(in_4_bits.scales.select(0, 1).select(0, 1).isfinite().all().item<bool>());  // of other numbers of the row
}

BOOST_AUTO_TEST_CASE(codes_are_nearest_with_scales_that_are_rounded) {
  const auto numbers = at::randn({9, 96}) + 3;
  const auto in_8_bits = quantize_in_8_bits(numbers, at::kBFloat16);
  const auto scales = in_8_bits.scales.to(at::kFloat).unsqueeze(1);
  const auto limit = numbers.abs().amax(1, true) - 127 * scales;  // what rounding a scale down cuts off
  const auto off = (in_8_bits.codes.to(at::kFloat) * scales - numbers).abs();
  BOOST_TEST((off <= at::maximum(scales * 0.5001F, limit * 1.0001F)).all().item<bool>());
  const auto in_4_bits = quantize_in_4_bits(numbers, at::kBFloat16);
  const auto steps = in_4_bits.scales.select(2, 0).to(at::kFloat).repeat_interleave(quantized_group, 1);
  BOOST_TEST(((unpacked(in_4_bits) - numbers).abs() <= steps * 0.6F + 0.02F).all().item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::device
