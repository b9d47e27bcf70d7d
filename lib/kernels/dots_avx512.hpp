#pragma once

#include "kernels/int8_table.hpp"
#include "kernels/simd_avx512.hpp"

#include <cstdint>
#include <type_traits>

namespace cogen::kernels {
namespace {

/// Products of four bytes a lane, summed in integers; see dots.hpp.
struct dots {
  using f = simd::f;
  using i = simd::i;
  // Rows of the register tiles: 4 vectors of outputs wide, and 2.
  static constexpr int wide_rows = 2;
  static constexpr int narrow_rows = 6;

  static i four(const std::int8_t* codes) {
    std::int32_t all;
    __builtin_memcpy(&all, codes, sizeof all);
    return _mm512_set1_epi32(all);
  }
  static f fma(f a, f b, f c) { return _mm512_fmadd_ps(a, b, c); }

#if defined(COGEN_SIMD_VNNI)
  struct bytes {
    static i begin(std::int32_t start) { return _mm512_set1_epi32(start); }
    static i add(i sum, i weights, i codes) { return _mm512_dpbusd_epi32(sum, weights, codes); }
    static i finish(i sum, std::int32_t) { return sum; }
  };
  template <int Bits>
  using sums_of = bytes;
#else
  // Two sums of 16 bits a lane: 8 times two products of at most 15 * 127 fit.
  struct nibbles {
    static i begin(std::int32_t) { return _mm512_setzero_si512(); }
    static i add(i sum, i weights, i codes) { return _mm512_add_epi16(sum, _mm512_maddubs_epi16(weights, codes)); }
    static i finish(i sum, std::int32_t start) {
      return _mm512_add_epi32(_mm512_madd_epi16(sum, _mm512_set1_epi16(1)), _mm512_set1_epi32(start));
    }
  };

  struct small_bytes {
    static i begin(std::int32_t start) { return _mm512_set1_epi32(start); }
    static i add(i sum, i weights, i codes) {
      const i pairs = _mm512_maddubs_epi16(weights, codes);
      return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
    }
    static i finish(i sum, std::int32_t) { return sum; }
  };

  // The bias comes off the weights; of magnitudes up to 128 two products with codes fit into 16 bits.
  struct bytes {
    static i begin(std::int32_t) { return _mm512_set1_epi32(sum_start); }
    static i add(i sum, i weights, i codes) {
      const i unbiased = _mm512_xor_si512(weights, _mm512_set1_epi8(-128));
      const __mmask64 negative = _mm512_movepi8_mask(unbiased);
      const i turned = _mm512_mask_sub_epi8(codes, negative, _mm512_setzero_si512(), codes);
      const i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(unbiased), turned);
      return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
    }
    static i finish(i sum, std::int32_t) { return sum; }
  };

  template <int Bits>
  using sums_of = std::conditional_t<(Bits > 6), bytes, std::conditional_t<(Bits > 4), small_bytes, nibbles>>;
#endif
};

}  // namespace
}  // namespace cogen::kernels
