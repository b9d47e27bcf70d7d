#pragma once

#include "kernels/simd_portable.hpp"

#include <cstdint>

namespace cogen::kernels {
namespace {

/// Products of four bytes a lane, summed in integers; see dots.hpp.
struct dots {
  using f = simd::f;
  using i = simd::i;
  using u = simd::u;
  // Rows of the register tiles: 4 vectors of outputs wide, and 2.
  static constexpr int wide_rows = 1;
  static constexpr int narrow_rows = 2;

  static i low(i packed) { return packed & 0x0f0f0f0f; }
  static i high(i packed) { return (packed >> 4) & 0x0f0f0f0f; }
  static i four(const std::int8_t* codes) {
    std::int32_t all;
    __builtin_memcpy(&all, codes, sizeof all);
    return i{all, all, all, all};
  }
  // Fused, as on processors that have it.
  static f fma(f a, f b, f c) {
    for (int lane = 0; lane < simd::width; ++lane) c[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
    return c;
  }

  struct bytes {
    static i begin(std::int32_t start) { return i{start, start, start, start}; }
    static i add(i sum, i weights, i codes) {
      for (int byte = 0; byte < 4; ++byte) {
        const i weight = reinterpret_cast<i>((reinterpret_cast<u>(weights) >> (8 * byte)) & 255U);
        const i code = reinterpret_cast<i>(reinterpret_cast<u>(codes) << (24 - 8 * byte)) >> 24;
        sum += weight * code;
      }
      return sum;
    }
    static i finish(i sum, std::int32_t) { return sum; }
  };
  using nibbles = bytes;
};

}  // namespace
}  // namespace cogen::kernels
