#include "network/backend/quantized_rows.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/stack.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace cogen::device {

namespace {

constexpr float middle = 8;

void check_groups(std::int64_t columns) {
  if (columns % quantized_group != 0)
    throw std::invalid_argument("rows of " + std::to_string(columns) +
                                " numbers cannot be quantized in 4 bits; a multiple of " +
                                std::to_string(quantized_group) + " is needed");
}

/// As divisors: a scale of 0 is that of numbers that are all 0.
at::Tensor divisors_of(const at::Tensor& scales) {
  return scales.to(at::kFloat).clamp_min(std::numeric_limits<float>::min());
}

/// Rows filled up with zeros to whole blocks.
at::Tensor in_blocks(const at::Tensor& rows, std::int64_t block) {
  const auto left = (block - rows.size(1) % block) % block;
  return left == 0 ? rows : at::constant_pad_nd(rows, {0, left});
}

at::Tensor packed_8_bits(const quantized_rows& rows) {
  const auto codes = in_blocks(rows.codes.view(at::kByte), kernels::packed_inputs(rows.packing));
  if (kernels::form_of(rows.packing).e4m3) return codes.contiguous();
  const auto blocks = codes.view({codes.size(0), -1, 2, 4, 8});
  return blocks.transpose(2, 3).flatten(1).contiguous();
}

/// [rows, blocks, halves, pieces, pairs, even or odd]: what packed_code_of() tells codes of fewer bits apart by.
at::Tensor by_place(const at::Tensor& codes) { return codes.view({codes.size(0), -1, 4, 4, 4, 2}); }

/// Numbers of `bits` bits, as many as a byte has room for in the last dimension, become bytes; the first is lowest.
at::Tensor bytes_of(const at::Tensor& numbers, int bits) {
  auto bytes = numbers.select(-1, 0).clone();
  for (std::int64_t index = 1; index < numbers.size(-1); ++index)
    bytes.add_(numbers.select(-1, index) * (1 << index * bits));
  return bytes;
}

/// Of each eight codes, the even ones come first.
at::Tensor packed_low_bits(const at::Tensor& codes) {
  const auto pairs = by_place(codes.bitwise_and(15)).unflatten(4, {2, 2}).transpose(5, 6);
  return bytes_of(pairs, 4).transpose(4, 5).transpose(2, 3).flatten(
      1);  // [rows, block, piece, half, even or odd, twos]
}

/// The same of the bits above those, a piece's halves one after the other.
at::Tensor packed_high_bits(const at::Tensor& codes, int bits) {
  const auto pairs = by_place(codes.bitwise_right_shift(4)).transpose(2, 3).flatten(3, 4);
  const auto fields = pairs.unflatten(3, {bits, 2, 8 / bits}).transpose(5, 6);
  return bytes_of(fields, bits).transpose(4, 5).flatten(1);  // [rows, block, piece, word, even or odd, bytes]
}

at::Tensor packed_codes(const quantized_rows& rows) {
  const auto codes = in_blocks(rows.codes, kernels::packed_inputs(rows.packing));
  const int high_bits = kernels::packed_high_bits(rows.packing);
  const auto low = packed_low_bits(codes);
  return high_bits == 0 ? low.contiguous() : at::cat({low, packed_high_bits(codes, high_bits)}, 1);
}

at::Tensor packed_scales(const quantized_rows& rows) {
  const auto form = kernels::form_of(rows.packing);
  if (form.e4m3) return rows.scales.to(at::kFloat).unsqueeze(1).view(rows.scales.scalar_type());
  if (form.group == 0) return rows.scales;
  const std::int64_t parts = kernels::packed_half / form.group;
  const std::int64_t halves = kernels::packed_inputs(rows.packing) / kernels::packed_half;
  const auto groups = in_blocks(rows.scales.flatten(1), kernels::packed_block_scales(rows.packing));
  const auto blocks = groups.view({groups.size(0), -1, halves, parts, form.zeros ? 2 : 1});
  return in_blocks(blocks.transpose(2, 3).flatten(1), 8).contiguous();
}

/// What is not a number has no code, and gets 0.
at::Tensor as_codes(const at::Tensor& numbers, double least, double largest, at::ScalarType type) {
  return at::nan_to_num(numbers.round().clamp_(least, largest)).to(type);
}

}  // namespace

quantized_rows make_quantized_rows(kernels::weight_packing packing, std::int64_t rows, std::int64_t columns,
                                   at::TensorOptions numbers) {
  const auto form = kernels::form_of(packing);
  const auto type = form.e4m3 ? at::kFloat8_e4m3fn : form.bits == 8 ? at::kChar : at::kByte;
  const auto codes = at::empty({rows, columns}, numbers.dtype(type));
  if (form.group == 0) return {codes, at::empty({rows}, numbers), packing};
  return {codes, at::empty({rows, columns / form.group, form.zeros ? 2 : 1}, numbers), packing};
}

quantized_rows some_of(const quantized_rows& rows, std::int64_t first, std::int64_t count) {
  return {rows.codes.narrow(0, first, count), rows.scales.narrow(0, first, count), rows.packing};
}

quantized_rows quantize_in_8_bits(const at::Tensor& numbers, at::ScalarType type) {
  constexpr double largest_code = 127;
  const auto scales = (numbers.abs().amax(1) / largest_code).to(type);
  const auto codes = numbers / divisors_of(scales).unsqueeze(1);
  return {as_codes(codes, -largest_code, largest_code, at::kChar), scales, kernels::weight_packing::int8};
}

quantized_rows quantize_in_4_bits(const at::Tensor& numbers, at::ScalarType type) {
  constexpr double largest_code = 15;
  check_groups(numbers.size(1));
  const auto groups = numbers.unflatten(1, {-1, quantized_group});
  const auto least = groups.amin(2);
  const auto scale = ((groups.amax(2) - least) / largest_code).to(type);
  const auto zero = (least + middle * scale.to(at::kFloat)).to(type);
  const auto codes = (groups - zero.to(at::kFloat).unsqueeze(2)) / divisors_of(scale).unsqueeze(2) + middle;
  return {as_codes(codes, 0, largest_code, at::kByte).flatten(1), at::stack({scale, zero}, 2),
          kernels::weight_packing::int4};
}

quantized_rows quantize_in_fp8(const at::Tensor& numbers, at::ScalarType type) {
  constexpr double largest_code = 448;
  const auto scales = (numbers.abs().amax(1) / largest_code).to(type);
  const auto codes = numbers / divisors_of(scales).unsqueeze(1);
  return {at::nan_to_num(codes.clamp(-largest_code, largest_code)).to(at::kFloat8_e4m3fn), scales,
          kernels::weight_packing::fp8};
}

quantized_rows quantize(const at::Tensor& numbers, kernels::weight_packing packing, at::ScalarType scales) {
  switch (packing) {
    case kernels::weight_packing::int8:
      return quantize_in_8_bits(numbers, scales);
    case kernels::weight_packing::int4:
      return quantize_in_4_bits(numbers, scales);
    case kernels::weight_packing::fp8:
      return quantize_in_fp8(numbers, scales);
    default:
      throw std::logic_error("numbers are not quantized in such codes");
  }
}

quantized_rows packed(const quantized_rows& rows) {
  if (rows.codes.size(1) % 8 != 0)
    throw std::invalid_argument("rows of " + std::to_string(rows.codes.size(1)) +
                                " numbers cannot be packed; a multiple of 8 is needed");
  const auto codes = kernels::form_of(rows.packing).bits == 8 ? packed_8_bits(rows) : packed_codes(rows);
  return {codes, packed_scales(rows), rows.packing};
}

}  // namespace cogen::device
