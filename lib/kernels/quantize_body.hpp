#pragma once

#include "kernels/int8_table.hpp"
#include "kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {
namespace {

constexpr float largest_code = 127.0F;
constexpr float smallest_input = 0x1p-100F;  // a group of less than that counts as zeros
constexpr float largest_input = 0x1p100F;    // one of that or more as not numbers
constexpr std::int32_t not_a_number = 0x7fc00000;
// Added to a number below 2^22, leaves it, rounded to the nearest integer, even on a tie, in the sum's low bits.
constexpr float rounding = 12582912.0F;

template <class Number, int Count>
using lanes = Number __attribute__((vector_size(sizeof(Number) * Count)));

template <class Vector>
COGEN_INLINE Vector read_lanes(const void* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

struct larger {
  template <class Vector>
  COGEN_INLINE static Vector of(Vector a, Vector b) {
    return a > b ? a : b;
  }
};

struct both {
  template <class Vector>
  COGEN_INLINE static Vector of(Vector a, Vector b) {
    return a + b;
  }
};

using words = lanes<std::int32_t, simd::width>;
using floats = lanes<float, simd::width>;
using codes = lanes<std::int8_t, simd::width>;
using four_words = lanes<std::int32_t, 4>;
using four_floats = lanes<float, 4>;

template <class Operation, int Count>
COGEN_INLINE four_words folded(lanes<std::int32_t, Count> v) {
  if constexpr (Count == 4) {
    return v;
  } else {
    using half = lanes<std::int32_t, Count / 2>;
    const auto* parts = reinterpret_cast<const char*>(&v);
    return folded<Operation, Count / 2>(Operation::of(read_lanes<half>(parts), read_lanes<half>(parts + sizeof(half))));
  }
}

// One number out of all lanes of each; any order gives the same one.
template <class Operation>
COGEN_INLINE four_words folded(const words (&v)[4]) {
  four_words pairs[2];
  COGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const four_words a = folded<Operation, simd::width>(v[2 * i]), b = folded<Operation, simd::width>(v[2 * i + 1]);
    pairs[i] = Operation::of(__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(a, b, 2, 6, 3, 7));
  }
  return Operation::of(__builtin_shufflevector(pairs[0], pairs[1], 0, 1, 4, 5),
                       __builtin_shufflevector(pairs[0], pairs[1], 2, 3, 6, 7));
}

// Writes lane g of each to group g, from byte `at` on.
COGEN_INLINE void scatter(four_words a, four_words b, four_words c, four_words d, activation_group* groups,
                          std::size_t at) {
  const four_words ab[] = {__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(a, b, 2, 6, 3, 7)};
  const four_words cd[] = {__builtin_shufflevector(c, d, 0, 4, 1, 5), __builtin_shufflevector(c, d, 2, 6, 3, 7)};
  COGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const four_words both_groups[] = {__builtin_shufflevector(ab[i], cd[i], 0, 1, 4, 5),
                                      __builtin_shufflevector(ab[i], cd[i], 2, 3, 6, 7)};
    COGEN_UNROLL
    for (int j = 0; j < 2; ++j)
      __builtin_memcpy(reinterpret_cast<char*>(groups + 2 * i + j) + at, &both_groups[j], sizeof both_groups[j]);
  }
}

COGEN_INLINE words largest_magnitudes(const float* x) {
  words most{};
  COGEN_UNROLL
  for (int at = 0; at < quantized_group; at += simd::width)
    most = larger::of(most, read_lanes<words>(x + at) & 0x7fffffff);
  return most;
}

// Returns sums of codes: of the first half plus 2^16 times those of the second.
COGEN_INLINE words round_group(const float* x, float inverse, activation_group& group) {
  words sums{};
  COGEN_UNROLL
  for (int at = 0; at < quantized_group; at += simd::width) {
    const floats moved = read_lanes<floats>(x + at) * inverse + rounding;
    const words whole = read_lanes<words>(&moved) - sum_start;
    const codes bytes = __builtin_convertvector(whole, codes);
    __builtin_memcpy(group.codes + at, &bytes, sizeof bytes);
    sums += at < quantized_group / 2 ? whole : whole << 16;
  }
  return sums;
}

constexpr int groups_at_once = 4;

COGEN_INLINE void quantize_groups(const float* x, activation_group* groups) {
  words most[groups_at_once], sums[groups_at_once];
  COGEN_UNROLL
  for (int g = 0; g < groups_at_once; ++g) most[g] = largest_magnitudes(x + g * quantized_group);
  const four_words bits = folded<larger>(most);
  const four_words counts = bits >= __builtin_bit_cast(std::int32_t, smallest_input);
  const four_words spoilt = bits >= __builtin_bit_cast(std::int32_t, largest_input);
  const auto largest = read_lanes<four_floats>(&bits);
  const four_floats quotients = largest_code / largest;
  const four_words inverse_bits = read_lanes<four_words>(&quotients) & counts;
  const auto inverse = read_lanes<four_floats>(&inverse_bits);
  COGEN_UNROLL
  for (int g = 0; g < groups_at_once; ++g) sums[g] = round_group(x + g * quantized_group, inverse[g], groups[g]);
  const four_words all = folded<both>(sums), first = (all << 16) >> 16, second = (all - first) >> 16;
  const four_words sum = first + second;

  const four_floats exact = largest * (1.0F / largest_code);
  const four_words shortened = (read_lanes<four_words>(&exact) + 2) & ~3;  // to the nearest with two bits of 0
  const four_words scale_bits = (shortened & counts) | (spoilt & not_a_number);
  const auto scale = read_lanes<four_floats>(&scale_bits);
  const four_floats offset = -rounding * scale, scaled_sum = scale * __builtin_convertvector(sum, four_floats);
  scatter(scale_bits, read_lanes<four_words>(&offset), read_lanes<four_words>(&scaled_sum), four_words{} + sum_start,
          groups, offsetof(activation_group, scale));
  scatter(sum_start - 8 * sum, sum_start - 128 * sum, sum_start - 128 * first, sum_start - 128 * second, groups,
          offsetof(activation_group, starts[1]));
}

void quantize_row(const float* x, std::int64_t inputs, activation_group* groups) {
  constexpr int at_once = groups_at_once * quantized_group;
  std::int64_t at = 0;
  for (; at + at_once <= inputs; at += at_once) quantize_groups(x + at, groups + at / quantized_group);
  if (at == inputs) return;
  float rest[at_once] = {};
  activation_group last[groups_at_once];
  const auto left = static_cast<std::size_t>(inputs - at);
  __builtin_memcpy(rest, x + at, left * sizeof(float));
  quantize_groups(rest, last);
  __builtin_memcpy(groups + at / quantized_group, last, left / quantized_group * sizeof(activation_group));
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
