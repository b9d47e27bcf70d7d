#pragma once

#include "network/kernels/int8_table.hpp"
#include "network/kernels/simd_avx2.hpp"

#include <cstdint>
#include <type_traits>

namespace cogen::kernels {
namespace {

/// Products of four bytes a lane, summed in integers; see dots.hpp.
struct dots {
  using f = simd::f;
  using i = simd::i;
  // Rows of the register tiles: 4 vectors of outputs wide, and 2.
  static constexpr int wide_rows = 1;
  static constexpr int narrow_rows = 2;
  // Of the register tiles of code_products_body.hpp.
  static constexpr int code_rows = 3;
  static constexpr int code_vectors = 2;

  static i four(const std::int8_t* codes) {
    std::int32_t word;
    __builtin_memcpy(&word, codes, sizeof word);
    return _mm256_set1_epi32(word);
  }
  static f fma(f a, f b, f c) { return _mm256_fmadd_ps(a, b, c); }

  // Two sums of 16 bits a lane: 8 times two products of at most 15 * 127 fit.
  struct nibbles {
    static i begin(std::int32_t) { return _mm256_setzero_si256(); }
    static i add(i sum, i weights, i codes) { return _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights, codes)); }
    static i finish(i sum, std::int32_t start) {
      return _mm256_add_epi32(_mm256_madd_epi16(sum, _mm256_set1_epi16(1)), _mm256_set1_epi32(start));
    }
  };

  // Up to 7 bits: two products of at most 127 * 128 fit into 16.
  struct small_bytes {
    static i begin(std::int32_t start) { return _mm256_set1_epi32(start); }
    static i add(i sum, i weights, i codes) {
      const i pairs = _mm256_maddubs_epi16(weights, codes);
      return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    static i finish(i sum, std::int32_t) { return sum; }
  };

  // The bias comes off the weights; of magnitudes up to 128 two products with codes fit into 16 bits.
  struct bytes {
    static i begin(std::int32_t) { return _mm256_set1_epi32(sum_start); }
    static i add(i sum, i weights, i codes) {
      const i unbiased = _mm256_xor_si256(weights, _mm256_set1_epi8(-128));
      const i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(unbiased), _mm256_sign_epi8(codes, unbiased));
      return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    static i finish(i sum, std::int32_t) { return sum; }
  };

  template <int Bits>
  using sums_of = std::conditional_t<(Bits > 7), bytes, std::conditional_t<(Bits > 4), small_bytes, nibbles>>;

  struct code_sum;
  struct quad {
    using sum = code_sum;
    std::int32_t first, second;
  };
  using byte_quad = quad;

  // The first and the third of four numbers, and the second and the fourth.
  static void store_quads(quad* target, i numbers) {
    const i later = _mm256_slli_epi32(_mm256_shuffle_epi32(numbers, 0xee), 16);
    const i packed = _mm256_permute4x64_epi64(_mm256_blend_epi16(numbers, later, 0xaa), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm256_castsi256_si128(packed));
  }

  struct spread_codes {
    i first, second;
  };
  static spread_codes spread(i codes) {
    return {_mm256_and_si256(codes, _mm256_set1_epi32(0xff00ff)), _mm256_srli_epi16(codes, 8)};
  }

  struct code_sum {
    i sum = _mm256_setzero_si256();

    void add(spread_codes codes, const quad& numbers) {
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(codes.first, _mm256_set1_epi32(numbers.first)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(codes.second, _mm256_set1_epi32(numbers.second)));
    }
    f value() const { return _mm256_cvtepi32_ps(sum); }
  };
};

}  // namespace
}  // namespace cogen::kernels
