#pragma once

#include <cstdint>

namespace cogen::kernels {

/// How tiled weights are stored: plain numbers, or 2, 4 or 8 bits with a scale (`_min`: and an offset) per group of 32
/// inputs.
///
/// A tile holds 64 outputs, side by side ("lanes"); its bytes, by ascending input:
/// - f32: per input 64 floats; f16: per input 64 halves
/// - bf16: per pair of inputs 64 lanes of 32 bits, the first input in the low half (an odd last one is paired with 0)
/// - q4, q4_min: per group 64 f16 scales [, 64 f16 minima], then four times (8 inputs each) 64 lanes of 32 bits whose
///   byte b holds input b in its low and input 4 + b in its high half; weight = (value - 8) * scale, with a minimum
///   value * scale + minimum
/// - q8, q8_min: per group 64 f16 scales [, 64 f16 minima], then eight times (4 inputs each) 64 lanes of 32 bits,
///   byte b of input b, biased by 128; weight = (value - 128) * scale [+ minimum]
/// - q4_nonlinear: as q4; weight = nonlinear_values[value] * scale
/// - q4_wide, q8_wide, q4_nonlinear_wide: as q4_min, q8_min and q4_nonlinear, with scales and minima of 32 bits
/// - q4_halves, q8_halves: as q4 and q8, with 64 f32 scales for the first 16 inputs of a group, then 64 for the others
/// - q2_halves: per group 64 f32 scales for its first 16 inputs, 64 for the others, and as many minima; then for each
///   half 64 lanes of 32 bits, byte b of inputs b, 4 + b, 8 + b and 12 + b, from its low bits on;
///   weight = value * scale + minimum
// clang-format off
enum class weight_storage : std::uint8_t {
  f32, f16, bf16,
  q4, q4_min, q8, q8_min, q4_nonlinear,
  q4_wide, q8_wide, q8_halves, q4_nonlinear_wide, q4_halves, q2_halves,
};
// clang-format on

constexpr bool is_quantized(weight_storage storage) { return storage >= weight_storage::q4; }

constexpr int tile_lanes = 64;
constexpr int quantized_group = 32;

/// What the 4-bit values of GGML's IQ4_NL and IQ4_XS stand for.
constexpr std::int8_t nonlinear_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace cogen::kernels
