#pragma once

#include <cstdint>

namespace cogen::kernels {

/// How tiled weights are stored: plain numbers, or 2 to 8 bits with scales (`_min`: and offsets) for each 32 inputs, a
/// group, or (`_k`) for each 256 of them, a block.
///
/// A tile holds 64 outputs, side by side ("lanes"); its bytes, by ascending input:
/// - f32: per input 64 floats; f16: per input 64 halves
/// - bf16: per pair of inputs 64 lanes of 32 bits, the first input in the low half (an odd last one is paired with 0)
/// - the others, per group: 64 f16 scales, with `_min` 64 f16 minima, and values;
///   weight = (value - zero) * scale, or value * scale + minimum
/// - mxfp4, per group: 64 bytes b and values; weight = 2^(b - 127) * e2m1_halves[value], or 0 where b is 0
/// - nvfp4, per group: 64 E4M3 numbers without signs for the first 16 inputs, 64 for the others, and values;
///   weight = (e4m3 / 2 * unit) * e2m1_halves[value]; the code that is NaN elsewhere is 480
/// - the others, per block: 64 f16 scales, where it has minima (q2_k, q4_k, q5_k) 64 of those too, negated, and 8
///   groups;
///   per group: 64 factors of 8 bits, signed, that multiply the scales (q3_k, q6_k, q4_table_k: 64 for the first 16
///   inputs, then 64 for the others), as many that multiply the minima (q2_k: both in one byte, the minimum's in its
///   high half), and values
/// - nvfp4 and q4_table_k begin with a code_table_header, whose unit multiplies all scales
/// - values of a group: words of 32 bits for each 64 lanes. Inputs 4 i to 4 i + 3 are in bytes 0 to 3 of one word. Of
///   8, 4 or 2 bits (the low ones of q5, q5_min, q5_k, q6_k and q3_k) 1, 2 or 4 such quads share a word, from its
///   bytes' low bits on; behind these words 8 or 4 of the quads share a word with the fifth, fifth and sixth, or third
///   bits
/// - q4_zero, q8_zero, per group: 64 float scales, 64 zeros of 8 bits and values; weight = (value - zero) * scale
/// - scaled_e2m1, per group: 64 float scales of the first 16 inputs, halved, 64 of the others and values;
///   weight = scale * e2m1_halves[value]
/// - e4m3, per 128 inputs: 64 float scales, and per input 64 bytes of E4M3; weight = scale * number
/// - zero: 1 (q2), 8 (q4), 16 (q5), 128 (q8), 4 (q3_k), 32 (q6_k); the values of q4_nonlinear and q4_nonlinear_k stand
///   for iq4_values, those of q4_table_k for what the tile's header says
// clang-format off
enum class weight_storage : std::uint8_t {
  f32, f16, bf16,
  q4, q4_min, q5, q5_min, q8, q4_nonlinear, mxfp4,
  q2_k, q3_k, q4_k, q5_k, q6_k, q4_nonlinear_k,
  q4_zero, q8_zero, e4m3, scaled_e2m1,
  q2, nvfp4, q4_table_k,
};
// clang-format on

constexpr bool is_quantized(weight_storage storage) { return storage >= weight_storage::q4; }

/// Whether values are integers, which are multiplied by rounded activations.
constexpr bool has_integers(weight_storage storage) { return is_quantized(storage) && storage != weight_storage::e4m3; }

constexpr int tile_lanes = 64;
constexpr int quantized_group = 32;
constexpr int quantized_block = 256;
constexpr int e4m3_block = 128;

/// What the codes of a tile stand for, before its blocks.
struct alignas(64) code_table_header {
  std::int8_t values[16];
  std::uint8_t from_zero[16];  ///< the same, more by 64
  float unit;                  ///< multiplies all scales; of q4_table_k a power of two
};

constexpr int code_table_zero = 64;

}  // namespace cogen::kernels
