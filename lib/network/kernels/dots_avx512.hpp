#pragma once

#include "network/kernels/int8_table.hpp"
#include "network/kernels/simd_avx512.hpp"

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
  // Of the register tiles of code_products_body.hpp.
  static constexpr int code_rows = 3;
  static constexpr int code_vectors = 4;

  static i four(const std::int8_t* codes) {
    std::int32_t word;
    __builtin_memcpy(&word, codes, sizeof word);
    return _mm512_set1_epi32(word);
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

  using spread_codes = i;
  static spread_codes spread(i codes) { return codes; }

  struct code_sum;
  struct quad {
    using sum = code_sum;
    std::int32_t first, second;
  };
  struct byte_sum;
  struct byte_quad {
    using sum = byte_sum;
    std::int32_t numbers;
  };

  // The upper 8 bits of four numbers, and their 7 lower ones.
  static void store_quads(quad* target, i numbers) {
    const i upper = _mm512_and_si512(_mm512_slli_epi32(numbers, 1), _mm512_set1_epi32(0xff00));
    const i both = _mm512_ternarylogic_epi32(numbers, _mm512_set1_epi32(127), upper, 0xea);
    const __m128i order = _mm_setr_epi8(1, 5, 9, 13, 0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0);
    const i quads = _mm512_shuffle_epi8(both, _mm512_broadcast_i32x4(order));
    const i packed = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6), quads);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm512_castsi512_si256(packed));
  }
  static void store_quads(byte_quad* target, i numbers) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target), _mm512_cvtepi32_epi8(numbers));
  }

  struct code_sum {
    i first = _mm512_setzero_si512(), second = _mm512_setzero_si512();

    void add(spread_codes codes, const quad& numbers) {
      first = _mm512_dpbusd_epi32(first, codes, _mm512_set1_epi32(numbers.first));
      second = _mm512_dpbusd_epi32(second, codes, _mm512_set1_epi32(numbers.second));
    }
    f value() const { return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(first, 7), second)); }
  };

  struct byte_sum {
    i sum = _mm512_setzero_si512();

    void add(spread_codes codes, const byte_quad& factors) {
      sum = _mm512_dpbusd_epi32(sum, codes, _mm512_set1_epi32(factors.numbers));
    }
    f value() const { return _mm512_cvtepi32_ps(sum); }
  };
#else
  // Two sums of 16 bits a lane: 8 times two products of at most 15 * 127 fit.
  struct nibbles {
    static i begin(std::int32_t) { return _mm512_setzero_si512(); }
    static i add(i sum, i weights, i codes) { return _mm512_add_epi16(sum, _mm512_maddubs_epi16(weights, codes)); }
    static i finish(i sum, std::int32_t start) {
      return _mm512_add_epi32(_mm512_madd_epi16(sum, _mm512_set1_epi16(1)), _mm512_set1_epi32(start));
    }
  };

  // Up to 7 bits: two products of at most 127 * 128 fit into 16.
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
  using sums_of = std::conditional_t<(Bits > 7), bytes, std::conditional_t<(Bits > 4), small_bytes, nibbles>>;

  struct code_sum;
  struct quad {
    using sum = code_sum;
    std::int32_t first, second;
  };
  using byte_quad = quad;

  // The first and the third of four numbers, and the second and the fourth.
  static void store_quads(quad* target, i numbers) {
    const i later = _mm512_slli_epi32(_mm512_shuffle_epi32(numbers, _MM_PERM_DCDC), 16);
    const i pairs = _mm512_mask_blend_epi16(0xaaaaaaaa, numbers, later);
    const i packed = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6), pairs);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm512_castsi512_si256(packed));
  }

  struct spread_codes {
    i first, second;
  };
  static spread_codes spread(i codes) {
    return {_mm512_and_si512(codes, _mm512_set1_epi32(0xff00ff)), _mm512_srli_epi16(codes, 8)};
  }

  struct code_sum {
    i sum = _mm512_setzero_si512();

    void add(spread_codes codes, const quad& numbers) {
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(codes.first, _mm512_set1_epi32(numbers.first)));
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(codes.second, _mm512_set1_epi32(numbers.second)));
    }
    f value() const { return _mm512_cvtepi32_ps(sum); }
  };
#endif
};

}  // namespace
}  // namespace cogen::kernels
