#pragma once

#include "network/kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

namespace cogen::kernels {
namespace {

/// 16 float32 lanes; AVX-512 F, BW, DQ, VL.
struct simd {
  using f = __m512;
  using i = __m512i;
  static constexpr int width = 16;
  // Rows of the register tiles of `linear`: 4 vectors wide or 2, dequantizing in registers or reading a panel (0:
  // none).
  static constexpr int wide_rows = 4;
  static constexpr int narrow_rows = 4;
  static constexpr int wide_panel_rows = 6;
  static constexpr int narrow_panel_rows = 12;

  static f zero() { return _mm512_setzero_ps(); }
  static f set(float value) { return _mm512_set1_ps(value); }
  static f load(const float* source) { return _mm512_loadu_ps(source); }
  static f load_first(const float* source, int n) { return _mm512_maskz_loadu_ps(first(n), source); }
  static void store(float* target, f v) { _mm512_storeu_ps(target, v); }
  static void store_first(float* target, f v, int n) { _mm512_mask_storeu_ps(target, first(n), v); }
  static i load_bits(const void* source) { return _mm512_loadu_si512(source); }
  static i set_bits(std::int32_t value) { return _mm512_set1_epi32(value); }

  static f add(f a, f b) { return _mm512_add_ps(a, b); }
  static f sub(f a, f b) { return _mm512_sub_ps(a, b); }
  static f mul(f a, f b) { return _mm512_mul_ps(a, b); }
  static f div(f a, f b) { return _mm512_div_ps(a, b); }
  static f fma(f a, f b, f c) { return _mm512_fmadd_ps(a, b, c); }
  static f min(f a, f b) { return _mm512_min_ps(a, b); }  // b if either is NaN
  static f max(f a, f b) { return _mm512_max_ps(a, b); }  // b if either is NaN

  static i bits(f v) { return _mm512_castps_si512(v); }
  static f from_bits(i v) { return _mm512_castsi512_ps(v); }
  static i add_bits(i a, i b) { return _mm512_add_epi32(a, b); }
  template <int N>
  static i shift_left(i v) {
    return _mm512_slli_epi32(v, N);
  }
  template <int N>
  static i shift_right(i v) {
    return _mm512_srli_epi32(v, N);
  }
  static i shift_right(i v, int n) { return _mm512_srl_epi32(v, _mm_cvtsi32_si128(n)); }
  static i and_bits(i a, i b) { return _mm512_and_si512(a, b); }
  static i or_bits(i a, i b) { return _mm512_or_si512(a, b); }
  // a where x < y (false for NaN), else b.
  static f where_less(f x, f y, f a, f b) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a); }
  // v in lanes [begin, end), else other.
  static f within(f v, int begin, int end, f other) {
    return _mm512_mask_blend_ps(static_cast<__mmask16>(first(end) & ~first(begin)), other, v);
  }

  static float sum(f v) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
  }
  static float largest(f v) {
    const __m256 half = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 pair = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
  }

  static f load_f16(const void* source) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(source)));
  }
  static void store_f16(void* target, f v) {
    _mm256_storeu_si256(static_cast<__m256i*>(target),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static f load_bf16(const void* source) {
    return from_bits(shift_left<16>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(source)))));
  }
  static void store_bf16(void* target, f v) {
    const i raw = bits(v);
    const i odd = _mm512_and_si512(_mm512_srli_epi32(raw, 16), _mm512_set1_epi32(1));
    const i rounded = _mm512_add_epi32(raw, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const i quiet = _mm512_or_si512(raw, _mm512_set1_epi32(0x400000));
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const i top = _mm512_srli_epi32(_mm512_mask_blend_epi32(nan, rounded, quiet), 16);
    _mm256_storeu_si256(static_cast<__m256i*>(target), _mm512_cvtepi32_epi16(top));
  }

  static f low_bf16(i pairs) { return from_bits(shift_left<16>(pairs)); }
  static f high_bf16(i pairs) {
    return from_bits(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
  }

  // Byte Input of each lane as a number: its low bits, up to 5, whatever lies above them.
  template <int Bits, int Input>
  static f low_bits(i v) {
    const i moved = shift_right<8 * Input>(v);
    if constexpr (Bits == 5) return _mm512_permutex2var_ps(counted(0, 15), moved, counted(16, 15));
    return _mm512_permutexvar_ps(moved, counted(0, (1 << Bits) - 1));
  }
  // What the low 4 bits of byte Input stand for in a table.
  template <int Input>
  static f looked_up_number(const std::int8_t (&table)[16], i v) {
    return _mm512_permutexvar_ps(shift_right<8 * Input>(v), signed_bytes(table));
  }
  // What bytes of 0..15 stand for.
  static i looked_up(const std::uint8_t (&table)[16], i nibbles) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), nibbles);
  }
  // What turns byte(v) into (value - zero) * scale with one multiply-add.
  static f byte_scale(f scale) { return mul(scale, set(256.0F)); }
  static f byte_offset(f scale, int zero) { return mul(scale, set(static_cast<float>(-256 - zero))); }
  // Byte Input of each lane, as 1 + value / 256.
  template <int Input>
  static f byte(i v) {
    constexpr int shift = 15 - 8 * Input;
    const i moved =
        shift >= 0 ? _mm512_slli_epi32(v, shift >= 0 ? shift : 0) : _mm512_srli_epi32(v, shift < 0 ? -shift : 0);
    return from_bits(
        _mm512_ternarylogic_epi32(moved, _mm512_set1_epi32(0x7f8000), _mm512_set1_epi32(0x3f800000), 0xea));
  }
  static f number(i v) { return _mm512_cvtepi32_ps(v); }
  static f signed_bytes(const void* source) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(source))));
  }
  // 2^(b - 127) of bytes b, or 0 where b is 0.
  static f powers_of_two(const void* source) {
    return from_bits(shift_left<23>(_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(source)))));
  }
  // Half the E4M3 numbers, without signs, of bytes; the code that is NaN elsewhere is 480.
  static f half_e4m3(const void* source) {
    const __m256i bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(source)));
    return mul(_mm512_cvtph_ps(_mm256_slli_epi16(bytes, 7)), set(128.0F));
  }

  // Bytes of E4M3, whose bits are those of a float16, as numbers / e4m3_factor; NaN codes are none.
  static constexpr float e4m3_factor = 256;
  static f load_e4m3(const void* source) {
    const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(source)));
    return _mm512_cvtph_ps(_mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(static_cast<short>(0xbfff))));
  }

  // One float16 in every lane.
  static f set_f16(const void* source) {
    std::uint16_t half;
    __builtin_memcpy(&half, source, sizeof half);
    return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(half)));
  }
  // Codes number `part` of `width` bytes, Bits each, as numbers.
  template <int Bits>
  static f codes(const void* source, int part) {
    const i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(source)));
    if constexpr (Bits == 8) return _mm512_cvtepi32_ps(bytes);
    return low_bits<Bits, 0>(_mm512_srlv_epi32(bytes, _mm512_set1_epi32(part * Bits)));
  }

 private:
  // Lane n holds first + (n & mask).
  static f counted(int first, int mask) {
    const i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_and_si512(numbers, set_bits(mask)), set_bits(first)));
  }
  static __mmask16 first(int n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1); }
};

}  // namespace
}  // namespace cogen::kernels
