#pragma once

#include "kernels/fast_table.hpp"
#include "kernels/simd.hpp"

#include <cstdint>

namespace cogen::kernels {
namespace {

constexpr float largest_code = 127.0F;
constexpr float smallest_input = 0x1p-100F;  // a group of less than that counts as zeros
constexpr float largest_input = 0x1p100F;    // one of that or more as not numbers
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

using four = lanes<std::int32_t, 4>;

// One number out of all lanes, in each of four; any order gives the same one.
template <class Operation, int Count>
COGEN_INLINE four folded(lanes<std::int32_t, Count> v) {
  if constexpr (Count == 4) {
    const four pairs = Operation::of(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
    return Operation::of(pairs, __builtin_shufflevector(pairs, pairs, 1, 0, 3, 2));
  } else {
    using half = lanes<std::int32_t, Count / 2>;
    const auto* parts = reinterpret_cast<const char*>(&v);
    return folded<Operation, Count / 2>(Operation::of(read_lanes<half>(parts), read_lanes<half>(parts + sizeof(half))));
  }
}

COGEN_INLINE void spoil(activation_group& group) {
  group = {};
  group.scale = group.offset = group.scaled_sum = __builtin_nanf("");
}

// To the nearest float whose last two bits are 0.
COGEN_INLINE float shortened(float value) {
  return __builtin_bit_cast(float, (__builtin_bit_cast(std::int32_t, value) + 2) & ~3);
}

using words = lanes<std::int32_t, simd::width>;
using floats = lanes<float, simd::width>;
using codes = lanes<std::int8_t, simd::width>;

COGEN_INLINE std::int32_t largest_magnitude(const float* x) {
  words most{};
  COGEN_UNROLL
  for (int at = 0; at < quantised_group; at += simd::width)
    most = larger::of(most, read_lanes<words>(x + at) & 0x7fffffff);
  return folded<larger, simd::width>(most)[0];
}

COGEN_INLINE void quantise_group(const float* x, activation_group& group) {
  const std::int32_t most = largest_magnitude(x);
  if (most >= __builtin_bit_cast(std::int32_t, largest_input)) return spoil(group);
  const auto largest = __builtin_bit_cast(float, most);
  const bool nothing = largest < smallest_input;
  const float inverse = nothing ? 0.0F : largest_code / largest;
  words sums{};  // of the first half, and 2^16 times that of the second
  COGEN_UNROLL
  for (int at = 0; at < quantised_group; at += simd::width) {
    const floats moved = read_lanes<floats>(x + at) * inverse + rounding;
    const words whole = read_lanes<words>(&moved) - sum_start;
    const codes bytes = __builtin_convertvector(whole, codes);
    __builtin_memcpy(group.codes + at, &bytes, sizeof bytes);
    sums += at < quantised_group / 2 ? whole : whole << 16;
  }
  const four all = folded<both, simd::width>(sums), first = (all << 16) >> 16, second = (all - first) >> 16;
  const four sum = first + second;
  group.scale = nothing ? 0.0F : shortened(largest * (1.0F / largest_code));
  group.offset = -rounding * group.scale;
  group.scaled_sum = group.scale * static_cast<float>(sum[0]);
  const four halves = __builtin_shufflevector(first, second, 0, 1, 4, 5);
  const four starts = sum_start - __builtin_shufflevector(sum, halves, 0, 1, 5, 6) * four{8, 128, 128, 128};
  __builtin_memcpy(group.starts, &starts, sizeof starts);
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
