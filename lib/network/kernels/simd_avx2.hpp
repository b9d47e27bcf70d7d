#pragma once

#include "network/kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

namespace cogen::kernels {
namespace {

/// 8 float32 lanes; AVX2, FMA, F16C.
struct simd {
  using f = __m256;
  using i = __m256i;
  static constexpr int width = 8;
  // Rows of the register tiles of `linear`: 4 vectors wide or 2, dequantizing in registers or reading a panel (0:
  // none).
  static constexpr int wide_rows = 2;
  static constexpr int narrow_rows = 6;
  static constexpr int wide_panel_rows = 0;
  static constexpr int narrow_panel_rows = 6;

  static f zero() { return _mm256_setzero_ps(); }
  static f set(float value) { return _mm256_set1_ps(value); }
  static f load(const float* source) { return _mm256_loadu_ps(source); }
  static f load_first(const float* source, int n) { return _mm256_maskload_ps(source, first(n)); }
  static void store(float* target, f v) { _mm256_storeu_ps(target, v); }
  static void store_first(float* target, f v, int n) { _mm256_maskstore_ps(target, first(n), v); }
  static i load_bits(const void* source) { return _mm256_loadu_si256(static_cast<const __m256i*>(source)); }
  static i set_bits(std::int32_t value) { return _mm256_set1_epi32(value); }

  static f add(f a, f b) { return _mm256_add_ps(a, b); }
  static f sub(f a, f b) { return _mm256_sub_ps(a, b); }
  static f mul(f a, f b) { return _mm256_mul_ps(a, b); }
  static f div(f a, f b) { return _mm256_div_ps(a, b); }
  static f fma(f a, f b, f c) { return _mm256_fmadd_ps(a, b, c); }
  static f min(f a, f b) { return _mm256_min_ps(a, b); }  // b if either is NaN
  static f max(f a, f b) { return _mm256_max_ps(a, b); }  // b if either is NaN

  static i bits(f v) { return _mm256_castps_si256(v); }
  static f from_bits(i v) { return _mm256_castsi256_ps(v); }
  static i add_bits(i a, i b) { return _mm256_add_epi32(a, b); }
  template <int N>
  static i shift_left(i v) {
    return _mm256_slli_epi32(v, N);
  }
  template <int N>
  static i shift_right(i v) {
    return _mm256_srli_epi32(v, N);
  }
  static i shift_right(i v, int n) { return _mm256_srl_epi32(v, _mm_cvtsi32_si128(n)); }
  static i and_bits(i a, i b) { return _mm256_and_si256(a, b); }
  static i or_bits(i a, i b) { return _mm256_or_si256(a, b); }
  // a where x < y (false for NaN), else b.
  static f where_less(f x, f y, f a, f b) { return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ)); }
  // v in lanes [begin, end), else other.
  static f within(f v, int begin, int end, f other) {
    const i inside = _mm256_andnot_si256(first(begin), first(end));
    return _mm256_blendv_ps(other, v, from_bits(inside));
  }

  static float sum(f v) {
    const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
  }
  static float largest(f v) {
    const __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 pair = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
  }

  static f load_f16(const void* source) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(source)));
  }
  static void store_f16(void* target, f v) {
    _mm_storeu_si128(static_cast<__m128i*>(target), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static f load_bf16(const void* source) {
    return from_bits(shift_left<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(source)))));
  }
  static void store_bf16(void* target, f v) {
    const i raw = bits(v);
    const i odd = _mm256_and_si256(_mm256_srli_epi32(raw, 16), _mm256_set1_epi32(1));
    const i rounded = _mm256_add_epi32(raw, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const i quiet = _mm256_or_si256(raw, _mm256_set1_epi32(0x400000));
    const i nan = bits(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const i top = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    const i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(top, top), 0x08);
    _mm_storeu_si128(static_cast<__m128i*>(target), _mm256_castsi256_si128(packed));
  }

  static f low_bf16(i pairs) { return from_bits(shift_left<16>(pairs)); }
  static f high_bf16(i pairs) {
    return from_bits(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000))));
  }

  // Byte Input of each lane as a number: its low bits, up to 5, whatever lies above them.
  template <int Bits, int Input>
  static f low_bits(i v) {
    return _mm256_cvtepi32_ps(_mm256_and_si256(shift_right<8 * Input>(v), _mm256_set1_epi32((1 << Bits) - 1)));
  }
  // What the low 4 bits of byte Input stand for in a table.
  template <int Input>
  static f looked_up_number(const std::int8_t (&table)[16], i v) {
    const i bytes = _mm256_shuffle_epi8(twice(table), _mm256_and_si256(v, _mm256_set1_epi8(15)));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(shift_left<24 - 8 * Input>(bytes), 24));
  }
  // What bytes of 0..15 stand for.
  static i looked_up(const std::uint8_t (&table)[16], i nibbles) { return _mm256_shuffle_epi8(twice(table), nibbles); }
  // What turns byte(v) into (value - zero) * scale with one multiply-add.
  static f byte_scale(f scale) { return scale; }
  static f byte_offset(f scale, int zero) { return mul(scale, set(static_cast<float>(-zero))); }
  // Byte Input of each lane as a number.
  template <int Input>
  static f byte(i v) {
    return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 8 * Input), _mm256_set1_epi32(255)));
  }
  static f number(i v) { return _mm256_cvtepi32_ps(v); }
  static f signed_bytes(const void* source) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(source))));
  }
  // 2^(b - 127) of bytes b, or 0 where b is 0.
  static f powers_of_two(const void* source) {
    return from_bits(shift_left<23>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(source)))));
  }
  // Half the E4M3 numbers, without signs, of bytes; the code that is NaN elsewhere is 480.
  static f half_e4m3(const void* source) {
    const __m128i bytes = _mm_cvtepu8_epi16(_mm_loadl_epi64(static_cast<const __m128i*>(source)));
    return mul(_mm256_cvtph_ps(_mm_slli_epi16(bytes, 7)), set(128.0F));
  }

  // Bytes of E4M3, whose bits are those of a float16, as numbers / e4m3_factor; NaN codes are none.
  static constexpr float e4m3_factor = 256;
  static f load_e4m3(const void* source) {
    const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64(static_cast<const __m128i*>(source)));
    return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(static_cast<short>(0xbfff))));
  }

  // One float16 in every lane.
  static f set_f16(const void* source) {
    std::uint16_t half;
    __builtin_memcpy(&half, source, sizeof half);
    return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(half)));
  }
  // Codes number `part` of `width` bytes, Bits each, as numbers.
  template <int Bits>
  static f codes(const void* source, int part) {
    const i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(source)));
    if constexpr (Bits == 8) return _mm256_cvtepi32_ps(bytes);
    const i shifted = _mm256_srl_epi32(bytes, _mm_cvtsi32_si128(part * Bits));
    return _mm256_cvtepi32_ps(_mm256_and_si256(shifted, _mm256_set1_epi32((1 << Bits) - 1)));
  }

 private:
  static i twice(const void* bytes) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(bytes)));
  }
  static i first(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
};

}  // namespace
}  // namespace cogen::kernels
