#pragma once

#include <cstdint>

namespace cogen::kernels {

/// How the rows of a matrix are stored for products on a device: as numbers, or as codes (see packed_form).
enum class weight_packing : std::uint8_t {
  whole,
  int8,         // a scale for each row
  int4,         // a scale and a zero for each 32 inputs of a row
  int5,         // the same
  int6,         // a scale for each 16
  int6_zeros,   // a scale and a zero for each 16
  int8_groups,  // a scale for each 32
  int8_zeros,   // a scale and a zero for each 16
  mxfp4,        // numbers of 4 bits (OCP's E2M1), and a scale for each 32
  fp8,          // numbers of 8 bits (OCP's E4M3), and a scale for each row
};

/// Codes of which some share a scale, and maybe a zero: number = code * scale + zero. Codes of 8 bits are from -128 to
/// 127. Those of fewer bits are stored from 0 on, and the middle one means 0; but of E2M1 and E4M3 codes the numbers
/// are those of these formats.
struct packed_form {
  int bits;           // of a code
  int group;          // consecutive codes of a row that share a scale; 0: all of them
  bool zeros;         // whether they share a zero, too
  bool e2m1 = false;  // not integers
  bool e4m3 = false;  // likewise

  constexpr int middle() const { return bits == 8 || e2m1 ? 0 : 1 << (bits - 1); }
};

/// Of packings with codes.
constexpr packed_form form_of(weight_packing packing) {
  switch (packing) {
    case weight_packing::int4:
      return {4, 32, true};
    case weight_packing::int5:
      return {5, 32, true};
    case weight_packing::int6:
      return {6, 16, false};
    case weight_packing::int6_zeros:
      return {6, 16, true};
    case weight_packing::int8_groups:
      return {8, 32, false};
    case weight_packing::int8_zeros:
      return {8, 16, true};
    case weight_packing::mxfp4:
      return {4, 32, false, true};
    case weight_packing::fp8:
      return {8, 0, false, false, true};
    default:
      return {8, 0, false};
  }
}

/// Whether there are more scales than rows. Inputs are a multiple of 32 then.
constexpr bool has_groups(weight_packing packing) {
  return packing != weight_packing::whole && form_of(packing).group > 0;
}

// Rows of codes are blocks of 64 bytes, the last one filled up with any codes. In a block the codes of every 32 inputs
// are spread over its four pieces of 16 bytes, eight to a piece: a warp that multiplies by 32 inputs at a time then has
// what each lane needs for two or four such steps in one read. Blocks have the lowest four bits of codes of 5 and 6
// bits. Behind a row's blocks is a word for each of their pieces with the bits that are left, or two words with two
// halves of the block each. E4M3 codes are in the order of inputs, as the products of fp8 by fp8 of libraries take
// them: a piece has sixteen neighbors.

constexpr int packed_half = 32;

/// Inputs of a block.
constexpr int packed_inputs(weight_packing packing) { return form_of(packing).bits == 8 ? 64 : 128; }

constexpr std::int64_t packed_blocks(weight_packing packing, std::int64_t inputs) {
  return (inputs + packed_inputs(packing) - 1) / packed_inputs(packing);
}

/// Bits of a code that are not in its block.
constexpr int packed_high_bits(weight_packing packing) {
  return form_of(packing).bits == 8 ? 0 : form_of(packing).bits - 4;
}

/// Bytes of a row of codes.
constexpr std::int64_t packed_row_bytes(weight_packing packing, std::int64_t inputs) {
  return (64 + 16 * packed_high_bits(packing)) * packed_blocks(packing, inputs);
}

/// Where an input's code is in its row: the lowest bit of it in a byte.
struct packed_code {
  std::int64_t byte;
  int bit;
};

/// Of the code, or of its lowest four bits.
constexpr packed_code packed_code_of(weight_packing packing, std::int64_t input) {
  const auto inside = static_cast<int>(input % packed_inputs(packing));
  if (form_of(packing).e4m3) return {input, 0};
  const int half = inside / packed_half, piece = inside % packed_half / 8, n = inside % 8;
  const std::int64_t offset = 64 * (input / packed_inputs(packing)) + std::int64_t{16} * piece;
  if (form_of(packing).bits == 8) return {offset + 8 * half + n, 0};
  const int bit = 4 * (n / 2) + 16 * (n % 2);  // two numbers of 16 bits, once all others are masked out
  return {offset + 4 * half + bit / 8, bit % 8};
}

/// Of its bits above these, of which there are packed_high_bits(), in a row of `inputs` codes.
constexpr packed_code packed_high_bits_of(weight_packing packing, std::int64_t inputs, std::int64_t input) {
  const auto inside = static_cast<int>(input % packed_inputs(packing));
  const int half = inside / packed_half, piece = inside % packed_half / 8, n = inside % 8;
  const int width = packed_high_bits(packing), pair = 4 * half + n / 2, pairs = 16 / width;  // of a word
  const std::int64_t word = (input / packed_inputs(packing) * 4 + piece) * width + pair / pairs;
  const int bit = pair % pairs * width + 16 * (n % 2);
  return {64 * packed_blocks(packing, inputs) + 4 * word + bit / 8, bit % 8};
}

// Scales are in the order of blocks, each followed by its zero if there is one. In a block those of the first 16 of
// each 32 inputs come first, where 16 share one: a lane then has its own in one read. The scale of a row of E4M3 codes
// is a float32, in the place of two.

/// Scales and zeros of a block.
constexpr int packed_block_scales(weight_packing packing) {
  const auto form = form_of(packing);
  return packed_inputs(packing) / form.group * (form.zeros ? 2 : 1);
}

/// Scales and zeros of a row, filled up to 16 bytes.
constexpr std::int64_t packed_row_scales(weight_packing packing, std::int64_t inputs) {
  if (!has_groups(packing)) return form_of(packing).e4m3 ? 2 : 1;
  return (packed_blocks(packing, inputs) * packed_block_scales(packing) + 7) / 8 * 8;
}

/// Where the scale of an input is among those of its row.
constexpr std::int64_t packed_scale_of(weight_packing packing, std::int64_t input) {
  if (!has_groups(packing)) return 0;
  const auto form = form_of(packing);
  const auto inside = static_cast<int>(input % packed_inputs(packing));
  const int halves = packed_inputs(packing) / packed_half;
  const int scale = inside % packed_half / form.group * halves + inside / packed_half;
  return input / packed_inputs(packing) * packed_block_scales(packing) + scale * (form.zeros ? 2 : 1);
}

}  // namespace cogen::kernels
