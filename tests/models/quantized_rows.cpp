#include "backend/quantized_rows.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <boost/test/unit_test.hpp>
#include <c10/util/Half.h>

#include <cstring>
#include <random>
#include <vector>

namespace cogen::device {
namespace {

at::Tensor unpacked_4_bits(const quantized_rows& rows) {
  const auto scales = rows.scales.to(at::kFloat);
  const auto groups = rows.codes.to(at::kFloat).unflatten(1, {scales.size(1), quantized_group});
  return ((groups - 8) * scales.narrow(2, 0, 1) + scales.narrow(2, 1, 1)).flatten(1);
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

BOOST_AUTO_TEST_CASE(numbers_in_4_bits_are_off_by_half_a_step_of_their_group) {
  auto numbers = at::randn({5, 128}) * at::randn({5, 1}).exp() + at::randn({5, 1});
  numbers.select(0, 2).fill_(3);
  const auto quantized = quantize_in_4_bits(numbers, at::kFloat);
  BOOST_TEST(quantized.codes.to(at::kInt).max().item<int>() == 15);
  const auto steps = quantized.scales.select(2, 0).repeat_interleave(quantized_group, 1);
  const auto off = (unpacked_4_bits(quantized) - numbers).abs();
  BOOST_TEST((off <= steps * 0.5001F + 1e-6F).all().item<bool>());
  BOOST_CHECK_THROW(quantize_in_4_bits(at::zeros({1, 40}), at::kFloat), std::invalid_argument);
}

/// Of random codes, and what files mean by them.
template <class Block, class Value>
void check_stored(load::element_type type, Value value) {
  constexpr std::int64_t rows = 6, columns = 96;
  std::mt19937 random(4);
  std::vector<Block> blocks(rows * columns / quantized_group);
  for (auto& block : blocks) {
    for (auto& byte : reinterpret_cast<std::uint8_t(&)[sizeof block]>(block))
      byte = static_cast<std::uint8_t>(random());
    block.scale = c10::Half(0.01F * static_cast<float>(random() % 100)).x;
    if constexpr (requires { block.minimum; }) block.minimum = c10::Half(-0.1F * static_cast<float>(random() % 9)).x;
  }
  const auto quantized = stored_4_bits(type, std::as_bytes(std::span(blocks)), rows, columns);
  const auto numbers = unpacked_4_bits(quantized);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto& block = blocks[static_cast<std::size_t>((row * columns + column) / quantized_group)];
      const int i = static_cast<int>(column % quantized_group);
      const int nibble = i < 16 ? block.nibbles[i] & 15 : block.nibbles[i - 16] >> 4;
      BOOST_TEST(quantized.codes[row][column].template item<int>() == nibble);
      BOOST_TEST(std::abs(numbers[row][column].template item<float>() - value(block, nibble)) < 1e-5F);
    }
}

float half(std::uint16_t bits) { return static_cast<float>(c10::Half(bits, c10::Half::from_bits())); }

BOOST_AUTO_TEST_CASE(what_files_keep_in_4_bits_stays_as_it_is) {
  check_stored<load::q4_0_block>(load::element_type::q4_0, [](const auto& block, int nibble) {
    return half(block.scale) * static_cast<float>(nibble - 8);
  });
  check_stored<load::q4_1_block>(load::element_type::q4_1, [](const auto& block, int nibble) {
    return half(block.scale) * static_cast<float>(nibble) + half(block.minimum);
  });
}

/// The code of an input among the bytes of its row.
int packed_code(const at::Tensor& codes, std::int64_t row, kernels::weight_packing packing, std::int64_t input) {
  const auto at = kernels::packed_code_of(packing, input);
  const int byte = codes[row][at.byte].item<int>();
  return packing == kernels::weight_packing::int8 ? static_cast<std::int8_t>(byte) : byte >> at.bit & 15;
}

BOOST_AUTO_TEST_CASE(packed_codes_are_where_kernels_read_them) {
  using kernels::weight_packing;
  for (const auto packing : {weight_packing::int8, weight_packing::int4})
    for (const std::int64_t inputs : {32, 64, 96, 128, 576}) {
      const auto numbers = at::randn({3, inputs});
      const bool in_4_bits = packing == weight_packing::int4;
      const auto rows = in_4_bits ? quantize_in_4_bits(numbers, at::kHalf) : quantize_in_8_bits(numbers, at::kHalf);
      const auto made = packed(rows);
      BOOST_TEST(made.codes.size(1) == kernels::packed_row_bytes(packing, inputs));
      BOOST_TEST(made.codes.is_contiguous());
      for (std::int64_t row = 0; row < 3; ++row)
        for (std::int64_t input = 0; input < inputs; ++input)
          BOOST_TEST(packed_code(made.codes, row, packing, input) == rows.codes[row][input].item<int>());
      if (!in_4_bits) continue;
      BOOST_TEST(made.scales.size(1) == 4 * kernels::packed_blocks(packing, inputs));
      BOOST_TEST(at::equal(made.scales.narrow(1, 0, inputs / 32), rows.scales));
      BOOST_TEST(made.scales.is_contiguous());
    }
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
  BOOST_TEST(((unpacked_4_bits(in_4_bits) - numbers).abs() <= steps * 0.6F + 0.02F).all().item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::device
