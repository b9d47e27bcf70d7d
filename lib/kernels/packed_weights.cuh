#pragma once

#include "kernels/matrix_instructions.cuh"
#include "kernels/packed_weights.hpp"

#include <cstdint>

// Packed codes as numbers, without a conversion: a code's bits are put behind those of a power of two, so that they
// count its units, and what that adds is subtracted. Each such step is exact.
namespace cogen::kernels::cuda {

/// Numbers of T, two to a word. Of its two functions for codes, the first takes two bytes of a word, `First` and the
/// one behind it; the second what a word has in its bits from 0 to 3 and from 16 to 19, less 8.
template <class T>
struct packed_pairs;

template <>
struct packed_pairs<f16> {
  template <int First>
  static __device__ std::uint32_t of_int8(std::uint32_t codes) {
    const std::uint32_t over_1024 = __byte_perm(codes ^ 0x80808080u, 0x64646464u, First == 0 ? 0x4140 : 0x4342);
    return subtract_f16(over_1024, 0x64806480u);  // 1024 + 128
  }
  static __device__ std::uint32_t of_int4(std::uint32_t codes) {
    return subtract_f16(and_or<0x000f000fu, 0x64006400u>(codes), 0x64086408u);
  }
  static __device__ std::uint32_t scaled(std::uint32_t x, std::uint32_t scale, std::uint32_t zero) {
    return multiply_add_f16(x, scale, zero);
  }
};

template <>
struct packed_pairs<bf16> {
  /// There is room for seven bits behind 128. The eighth says whether 128 or 256 is subtracted.
  template <int First>
  static __device__ std::uint32_t of_int8(std::uint32_t codes) {
    const std::uint32_t bits = __byte_perm(codes, 0x43434343u, First == 0 ? 0x4140 : 0x4342);
    return multiply_add_bf16(bits & 0xff80ff80u, 0xbf80bf80u, bits & 0xff7fff7fu);
  }
  static __device__ std::uint32_t of_int4(std::uint32_t codes) {
    return multiply_add_bf16(and_or<0x000f000fu, 0x43004300u>(codes), 0x3f803f80u, 0xc308c308u);  // - (128 + 8)
  }
  static __device__ std::uint32_t scaled(std::uint32_t x, std::uint32_t scale, std::uint32_t zero) {
    return multiply_add_bf16(x, scale, zero);
  }
};

/// Eight codes as numbers.
template <class T>
__device__ inline words<4> eight_of_int8(std::uint32_t low, std::uint32_t high) {
  using pairs = packed_pairs<T>;
  return {{pairs::template of_int8<0>(low), pairs::template of_int8<2>(low), pairs::template of_int8<0>(high),
           pairs::template of_int8<2>(high)}};
}

/// The same of eight codes of 4 bits, times their scale, plus their zero: each rounded to T. Those two share a word.
template <class T>
__device__ inline words<4> eight_of_int4(std::uint32_t codes, std::uint32_t scale_and_zero) {
  using pairs = packed_pairs<T>;
  const std::uint32_t scale = __byte_perm(scale_and_zero, 0, 0x1010), zero = __byte_perm(scale_and_zero, 0, 0x3232);
  words<4> x;
#pragma unroll
  for (int pair = 0; pair < 4; ++pair) x.at[pair] = pairs::scaled(pairs::of_int4(codes >> 4 * pair), scale, zero);
  return x;
}

}  // namespace cogen::kernels::cuda
