#pragma once

#include <cstdint>

namespace cogen::kernels {

/// How the rows of a matrix are stored for products on a device: as numbers, as codes from -127 to 127 of which a row
/// shares a scale, or as codes from 0 to 15 of which 32 in a row share a scale and a zero.
enum class weight_packing : std::uint8_t { whole, int8, int4 };

/// Consecutive codes of a row that share a scale and a zero.
inline constexpr int int4_group = 32;

// Rows of codes are blocks of 64 bytes, the last one filled up with any codes. In a block the codes of every 32 inputs
// are spread over its four pieces of 16 bytes, eight to a piece: a warp that multiplies by 32 inputs at a time then has
// what each lane needs for two or four such steps in one read.

/// Inputs of a block.
constexpr int packed_inputs(weight_packing packing) { return packing == weight_packing::int4 ? 128 : 64; }

constexpr std::int64_t packed_blocks(weight_packing packing, std::int64_t inputs) {
  return (inputs + packed_inputs(packing) - 1) / packed_inputs(packing);
}

/// Bytes of a row of codes.
constexpr std::int64_t packed_row_bytes(weight_packing packing, std::int64_t inputs) {
  return 64 * packed_blocks(packing, inputs);
}

/// Where an input's code is in its row: the lowest bit of it in a byte.
struct packed_code {
  std::int64_t byte;
  int bit;
};

constexpr packed_code packed_code_of(weight_packing packing, std::int64_t input) {
  const auto inside = static_cast<int>(input % packed_inputs(packing));
  const int half = inside / 32, piece = inside % 32 / 8, n = inside % 8;
  const std::int64_t at = 64 * (input / packed_inputs(packing)) + std::int64_t{16} * piece;
  if (packing == weight_packing::int8) return {at + 8 * half + n, 0};
  const int bit = 4 * (n / 2) + 16 * (n % 2);  // two numbers of 16 bits, once all others are masked out
  return {at + 4 * half + bit / 8, bit % 8};
}

}  // namespace cogen::kernels
