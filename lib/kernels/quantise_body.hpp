#pragma once

#include "kernels/fast_table.hpp"
#include "kernels/simd.hpp"

#include <cstdint>

namespace cogen::kernels {
namespace {

constexpr float largest_code = 127.0F;
constexpr float smallest_input = 0x1p-100F;  // a group of less than that counts as zeros
constexpr std::int32_t infinity_bits = 0x7f800000;
// Added to a number below 2^22, leaves it, rounded to the nearest integer, even on a tie, in the sum's low bits.
constexpr float rounding = 12582912.0F;
constexpr std::int32_t rounding_bits = 0x4b400000;

COGEN_INLINE std::int32_t magnitude_bits(float value) { return __builtin_bit_cast(std::int32_t, value) & 0x7fffffff; }

COGEN_INLINE void spoil(activation_group& group) {
  group = {};
  group.scale = group.scaled_sum = __builtin_nanf("");
}

COGEN_INLINE void quantise_group(const float* x, activation_group& group) {
  std::int32_t most = 0;
  for (int at = 0; at < quantised_group; ++at) {
    const std::int32_t bits = magnitude_bits(x[at]);
    most = bits > most ? bits : most;
  }
  if (most >= infinity_bits) return spoil(group);
  const auto largest = __builtin_bit_cast(float, most);
  const float inverse = largest < smallest_input ? 0.0F : largest_code / largest;
  std::int32_t sum = 0;
  for (int at = 0; at < quantised_group; ++at) {
    const std::int32_t code = __builtin_bit_cast(std::int32_t, x[at] * inverse + rounding) - rounding_bits;
    group.codes[at] = static_cast<std::int8_t>(code);
    sum += code;
  }
  group.scale = largest < smallest_input ? 0.0F : largest / largest_code;
  group.scaled_sum = group.scale * static_cast<float>(sum);
  group.minus_8 = -8 * sum;
  group.minus_128 = -128 * sum;
}

void quantise_row(const float* x, std::int64_t inputs, activation_group* groups) {
  for (std::int64_t at = 0; at < inputs; at += quantised_group) quantise_group(x + at, groups[at / quantised_group]);
}

// To the nearest, even on a tie; NaNs stay NaNs.
COGEN_INLINE std::uint16_t rounded_to_bf16(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t up = bits + 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>(((bits & 0x7fffffffU) > 0x7f800000U ? bits | 0x400000U : up) >> 16);
}

void round_row(const float* x, std::int64_t inputs, std::uint16_t* rounded) {
  for (std::int64_t at = 0; at < inputs; ++at) rounded[at] = rounded_to_bf16(x[at]);
  if (inputs % 2 != 0) rounded[inputs] = 0;
}

}  // namespace
}  // namespace cogen::kernels
