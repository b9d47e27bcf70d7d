#pragma once

#include "network/kernels/dots.hpp"
#include "network/kernels/int8_table.hpp"
#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {
namespace {

constexpr std::int8_t largest_code = 127;
constexpr float smallest_input = 0x1p-100F;  // a group of less than that counts as zeros
constexpr float largest_input = 0x1p100F;    // one of that or more as not numbers
constexpr std::int32_t not_a_number = 0x7fc00000;
// Added to a number below 2^22, leaves it, rounded to the nearest integer, even on a tie, in the sum's low bits.
constexpr float rounding = 12582912.0F;

template <class Number, int Count>
using lanes [[gnu::vector_size(sizeof(Number) * Count)]] = Number;

template <class Vector>
COGEN_INLINE Vector read_lanes(const void* source) {
  Vector v;
  __builtin_memcpy(&v, source, sizeof v);
  return v;
}

template <class Vector>
COGEN_INLINE Vector larger(Vector a, Vector b) {
  return a > b ? a : b;
}
template <class Vector>
COGEN_INLINE Vector smaller(Vector a, Vector b) {
  return a < b ? a : b;
}

using words = lanes<std::int32_t, simd::width>;
using floats = lanes<float, simd::width>;
using codes = lanes<std::int8_t, simd::width>;
using four_words = lanes<std::int32_t, 4>;
using four_floats = lanes<float, 4>;

// What is folded: a vector for each field, of which merge() makes one out of two.
struct total {
  static constexpr int fields = 1;
  template <class Vector>
  COGEN_INLINE static void merge(const Vector (&a)[1], const Vector (&b)[1], Vector (&out)[1]) {
    out[0] = a[0] + b[0];
  }
};

struct largest_two {
  static constexpr int fields = 2;  // the largest number, and the next
  template <class Vector>
  COGEN_INLINE static void merge(const Vector (&a)[2], const Vector (&b)[2], Vector (&out)[2]) {
    out[0] = larger(a[0], b[0]);
    out[1] = larger(smaller(a[0], b[0]), larger(a[1], b[1]));
  }
};

struct only_quad {
  static constexpr int fields = 2;  // its bytes, and its index; those of all others are zeros
  template <class Vector>
  COGEN_INLINE static void merge(const Vector (&a)[2], const Vector (&b)[2], Vector (&out)[2]) {
    out[0] = a[0] | b[0];
    out[1] = a[1] | b[1];
  }
};

template <class Kind, int Count>
struct lanes_of {
  lanes<std::int32_t, Count> field[Kind::fields];

  COGEN_INLINE lanes_of with(const lanes_of& other) const {
    lanes_of result;
    Kind::merge(field, other.field, result.field);
    return result;
  }
};

template <class Kind, int Count>
COGEN_INLINE lanes_of<Kind, 4> folded(const lanes_of<Kind, Count>& v) {
  if constexpr (Count == 4) {
    return v;
  } else {
    lanes_of<Kind, Count / 2> low, high;
    COGEN_UNROLL
    for (int i = 0; i < Kind::fields; ++i) {
      const auto* parts = reinterpret_cast<const char*>(&v.field[i]);
      low.field[i] = read_lanes<lanes<std::int32_t, Count / 2>>(parts);
      high.field[i] = read_lanes<lanes<std::int32_t, Count / 2>>(parts + sizeof low.field[i]);
    }
    return folded<Kind, Count / 2>(low.with(high));
  }
}

// Lane g is of all lanes of v[g]; any order gives the same one.
template <class Kind, int Count>
COGEN_INLINE lanes_of<Kind, 4> folded(const lanes_of<Kind, Count> (&v)[4]) {
  lanes_of<Kind, 4> pairs[2], low, high;
  COGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const lanes_of<Kind, 4> a = folded<Kind, Count>(v[2 * i]), b = folded<Kind, Count>(v[2 * i + 1]);
    COGEN_UNROLL
    for (int j = 0; j < Kind::fields; ++j) {
      low.field[j] = __builtin_shufflevector(a.field[j], b.field[j], 0, 4, 1, 5);
      high.field[j] = __builtin_shufflevector(a.field[j], b.field[j], 2, 6, 3, 7);
    }
    pairs[i] = low.with(high);
  }
  COGEN_UNROLL
  for (int j = 0; j < Kind::fields; ++j) {
    low.field[j] = __builtin_shufflevector(pairs[0].field[j], pairs[1].field[j], 0, 1, 4, 5);
    high.field[j] = __builtin_shufflevector(pairs[0].field[j], pairs[1].field[j], 2, 3, 6, 7);
  }
  return low.with(high);
}

// Writes lane g of each to group g, from byte `offset` on.
COGEN_INLINE void scatter(four_words a, four_words b, four_words c, four_words d, activation_group* groups,
                          std::size_t offset) {
  const four_words ab[] = {__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(a, b, 2, 6, 3, 7)};
  const four_words cd[] = {__builtin_shufflevector(c, d, 0, 4, 1, 5), __builtin_shufflevector(c, d, 2, 6, 3, 7)};
  COGEN_UNROLL
  for (int i = 0; i < 2; ++i) {
    const four_words both_groups[] = {__builtin_shufflevector(ab[i], cd[i], 0, 1, 4, 5),
                                      __builtin_shufflevector(ab[i], cd[i], 2, 3, 6, 7)};
    COGEN_UNROLL
    for (int j = 0; j < 2; ++j)
      __builtin_memcpy(reinterpret_cast<char*>(groups + 2 * i + j) + offset, &both_groups[j], sizeof both_groups[j]);
  }
}

COGEN_INLINE lanes_of<largest_two, simd::width> largest_magnitudes(const float* x) {
  lanes_of<largest_two, simd::width> most{};
  COGEN_UNROLL
  for (int index = 0; index < quantized_group; index += simd::width)
    most = most.with({{read_lanes<words>(x + index) & 0x7fffffff, words{}}});
  return most;
}

// Sums of codes: of the first half plus 2^16 times those of the second; and what codes beyond 127 have more.
struct rounded_group {
  lanes_of<total, simd::width> sums;
  lanes_of<only_quad, 4> outlier;
};

COGEN_INLINE rounded_group round_group(const float* x, float inverse, activation_group& group) {
  rounded_group result{};
  four_words beyond[2];  // eight quads of bytes
  COGEN_UNROLL
  for (int index = 0; index < quantized_group; index += simd::width) {
    const floats moved = read_lanes<floats>(x + index) * inverse + rounding;
    const words whole = read_lanes<words>(&moved) - sum_start;
    const words within = larger(smaller(whole, words{} + largest_code), words{} - largest_code);
    const codes bytes = __builtin_convertvector(within, codes);
    const codes excess = __builtin_convertvector(whole - within, codes);
    __builtin_memcpy(group.codes + index, &bytes, sizeof bytes);
    __builtin_memcpy(reinterpret_cast<char*>(beyond) + index, &excess, sizeof excess);
    result.sums.field[0] += index < quantized_group / 2 ? whole : whole << 16;
  }
  const four_words first = {0, 1, 2, 3};
  result.outlier = {{beyond[0] | beyond[1], ((beyond[0] != 0) & first) | ((beyond[1] != 0) & (first + 4))}};
  return result;
}

constexpr int groups_at_once = 4;

// One input may have a code of up to twice the largest one.
COGEN_INLINE void quantize_groups(const float* x, activation_group* groups) {
  lanes_of<largest_two, simd::width> magnitudes[groups_at_once];
  COGEN_UNROLL
  for (int g = 0; g < groups_at_once; ++g) magnitudes[g] = largest_magnitudes(x + g * quantized_group);
  const auto most = folded(magnitudes);
  const four_words bits = most.field[0];
  const four_words counts = bits >= __builtin_bit_cast(std::int32_t, smallest_input);
  const four_words spoilt = bits >= __builtin_bit_cast(std::int32_t, largest_input);
  const auto largest = read_lanes<four_floats>(&bits), next = read_lanes<four_floats>(&most.field[1]);
  const four_floats limit = larger(next, largest * 0.5F);
  const four_floats quotients = float{largest_code} / limit;
  const four_words inverse_bits = read_lanes<four_words>(&quotients) & counts;
  const auto inverse = read_lanes<four_floats>(&inverse_bits);
  lanes_of<total, simd::width> sums[groups_at_once];
  lanes_of<only_quad, 4> quads[groups_at_once];
  COGEN_UNROLL
  for (int g = 0; g < groups_at_once; ++g) {
    const rounded_group rounded = round_group(x + g * quantized_group, inverse[g], groups[g]);
    sums[g] = rounded.sums;
    quads[g] = rounded.outlier;
  }
  const four_words packed_sums = folded(sums).field[0], first = (packed_sums << 16) >> 16,
                   second = (packed_sums - first) >> 16;
  const four_words sum = first + second;
  const auto outlier = folded(quads);

  const four_floats exact = limit * (1.0F / float{largest_code});
  const four_words shortened = (read_lanes<four_words>(&exact) + 2) & ~3;  // to the nearest with two bits of 0
  const four_words scale_bits = (shortened & counts) | (spoilt & not_a_number);
  const auto scale = read_lanes<four_floats>(&scale_bits);
  const four_floats offset = -rounding * scale, scaled_sum = scale * __builtin_convertvector(sum, four_floats);
  scatter(scale_bits, read_lanes<four_words>(&offset), read_lanes<four_words>(&scaled_sum), outlier.field[0], groups,
          offsetof(activation_group, scale));
  scatter(sum_start - 8 * sum, sum_start - 128 * sum, sum_start - 128 * first, sum_start - 128 * second, groups,
          offsetof(activation_group, starts));
  COGEN_UNROLL
  for (int g = 0; g < groups_at_once; ++g)
    groups[g].outlier_at = static_cast<std::uint32_t>(outlier.field[1][g] * panel_quad_bytes);
}

void quantize_row(const float* x, std::int64_t inputs, activation_group* groups) {
  constexpr int at_once = groups_at_once * quantized_group;
  std::int64_t offset = 0;
  for (; offset + at_once <= inputs; offset += at_once) quantize_groups(x + offset, groups + offset / quantized_group);
  if (offset == inputs) return;
  float rest[at_once] = {};
  activation_group last[groups_at_once];
  const auto left = static_cast<std::size_t>(inputs - offset);
  __builtin_memcpy(rest, x + offset, left * sizeof(float));
  quantize_groups(rest, last);
  __builtin_memcpy(groups + offset / quantized_group, last, left / quantized_group * sizeof(activation_group));
}

// To the nearest, even on a tie; NaNs stay NaNs.
COGEN_INLINE std::uint16_t rounded_to_bf16(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t up = bits + 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>(((bits & 0x7fffffffU) > 0x7f800000U ? bits | 0x400000U : up) >> 16);
}

void round_row(const float* x, std::int64_t inputs, std::uint16_t* rounded) {
  for (std::int64_t index = 0; index < inputs; ++index) rounded[index] = rounded_to_bf16(x[index]);
  if (inputs % 2 != 0) rounded[inputs] = 0;
}

}  // namespace
}  // namespace cogen::kernels
