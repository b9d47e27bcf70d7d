#include "backend/quantized_rows.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <c10/util/Half.h>

#include <cstdint>
#include <cstring>
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

float half(std::uint16_t bits) { return static_cast<float>(c10::Half(bits, c10::Half::from_bits())); }

/// The scale and zero of a block as files have them: nibble n is n * scale + minimum.
struct stored_scale {
  float scale;
  float minimum;
};
stored_scale scale_of(const load::q4_0_block& block) { return {half(block.scale), -middle * half(block.scale)}; }
stored_scale scale_of(const load::q4_1_block& block) { return {half(block.scale), half(block.minimum)}; }

template <class Block>
quantized_rows unquantized_blocks(std::span<const std::byte> stored, std::int64_t rows, std::int64_t columns) {
  auto codes = at::empty({rows, columns}, at::kByte);
  auto scales = at::empty({rows, columns / quantized_group, 2}, at::kFloat);
  auto* to = codes.mutable_data_ptr<std::uint8_t>();
  auto* scale_to = scales.mutable_data_ptr<float>();
  for (; !stored.empty(); stored = stored.subspan(sizeof(Block)), to += quantized_group, scale_to += 2) {
    Block block;
    std::memcpy(&block, stored.data(), sizeof block);
    const auto [scale, minimum] = scale_of(block);
    scale_to[0] = scale, scale_to[1] = minimum + middle * scale;
    for (int i = 0; i < quantized_group / 2; ++i) {
      to[i] = block.nibbles[i] & 15;
      to[i + quantized_group / 2] = block.nibbles[i] >> 4;
    }
  }
  return {codes, scales};
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

quantized_rows packed_in_8_bits(const quantized_rows& rows) {
  const auto codes = in_blocks(rows.codes, kernels::packed_inputs(kernels::weight_packing::int8));
  const auto blocks = codes.view(at::kByte).view({codes.size(0), -1, 2, 4, 8});
  return {blocks.transpose(2, 3).flatten(1).contiguous(), rows.scales};
}

/// Of each eight codes, the even ones come first.
quantized_rows packed_in_4_bits(const quantized_rows& rows) {
  const auto inputs = kernels::packed_inputs(kernels::weight_packing::int4);
  const auto codes = in_blocks(rows.codes, inputs);
  const auto pairs =
      codes.view({codes.size(0), -1, 4, 4, 2, 2, 2});  // block, half, piece, fours, low or high, even or odd
  const auto bytes = pairs.select(5, 0) + pairs.select(5, 1) * 16;  // [rows, block, half, piece, fours, even or odd]
  const auto groups = rows.scales.flatten(1);
  return {bytes.transpose(4, 5).transpose(2, 3).flatten(1).contiguous(),
          in_blocks(groups, 2 * inputs / quantized_group).unflatten(1, {-1, 2}).contiguous()};
}

}  // namespace

quantized_rows quantize_in_8_bits(const at::Tensor& numbers, at::ScalarType type) {
  constexpr double largest_code = 127;
  const auto scales = (numbers.abs().amax(1) / largest_code).to(type);
  const auto codes = (numbers / divisors_of(scales).unsqueeze(1)).round_().clamp_(-largest_code, largest_code);
  return {codes.to(at::kChar), scales};
}

quantized_rows quantize_in_4_bits(const at::Tensor& numbers, at::ScalarType type) {
  constexpr double largest_code = 15;
  check_groups(numbers.size(1));
  const auto groups = numbers.unflatten(1, {-1, quantized_group});
  const auto least = groups.amin(2);
  const auto scale = ((groups.amax(2) - least) / largest_code).to(type);
  const auto zero = (least + middle * scale.to(at::kFloat)).to(type);
  const auto codes = (groups - zero.to(at::kFloat).unsqueeze(2)) / divisors_of(scale).unsqueeze(2) + middle;
  return {codes.round().clamp_(0, largest_code).to(at::kByte).flatten(1), at::stack({scale, zero}, 2)};
}

quantized_rows packed(const quantized_rows& rows) {
  return rows.scales.dim() == 1 ? packed_in_8_bits(rows) : packed_in_4_bits(rows);
}

quantized_rows stored_4_bits(load::element_type type, std::span<const std::byte> stored, std::int64_t rows,
                             std::int64_t columns) {
  check_groups(columns);
  return type == load::element_type::q4_0 ? unquantized_blocks<load::q4_0_block>(stored, rows, columns)
                                          : unquantized_blocks<load::q4_1_block>(stored, rows, columns);
}

}  // namespace cogen::device
