#pragma once

#include "network/kernels/weight_storage.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {
namespace {

#if defined(COGEN_EMULATED_LANES)
constexpr int portable_lanes = COGEN_EMULATED_LANES;
#else
constexpr int portable_lanes = 4;
#endif

/// float32 lanes in the compiler's own vectors, for any processor: the 4 of the portable instruction set, whose
/// multiply-adds are not fused, or an emulation of AVX2 (8) or AVX-512 (16). An emulation computes what simd_avx2.hpp
/// or simd_avx512.hpp computes, with the same rounding in the same order, so results are equal bit for bit.
struct simd {
  static constexpr int width = portable_lanes;
  using f = float __attribute__((vector_size(4 * width)));
  using i = std::int32_t __attribute__((vector_size(4 * width)));
  using u = std::uint32_t __attribute__((vector_size(4 * width)));
  // Rows of the register tiles of `linear`: 4 vectors wide or 2, dequantizing in registers or reading a panel (0:
  // none).
  static constexpr int wide_rows = width == 16 ? 4 : 2;
  static constexpr int narrow_rows = width == 16 ? 4 : 6;
  static constexpr int wide_panel_rows = width == 16 ? 6 : 0;
  static constexpr int narrow_panel_rows = width == 16 ? 12 : 6;

  static f zero() { return f{}; }
  static f set(float value) { return value - f{}; }  // which keeps -0
  static f load(const float* source) { return read<f>(source); }
  static f load_first(const float* source, int n) {
    f v{};
    for (int lane = 0; lane < width && lane < n; ++lane) v[lane] = source[lane];
    return v;
  }
  static void store(float* target, f v) { __builtin_memcpy(target, &v, sizeof v); }
  static void store_first(float* target, f v, int n) {
    for (int lane = 0; lane < width && lane < n; ++lane) target[lane] = v[lane];
  }
  static i load_bits(const void* source) { return read<i>(source); }
  static i set_bits(std::int32_t value) { return i{} + value; }

  static f add(f a, f b) { return a + b; }
  static f sub(f a, f b) { return a - b; }
  static f mul(f a, f b) { return a * b; }
  static f div(f a, f b) { return a / b; }
  static f fma(f a, f b, f c) {
    if constexpr (width == 4) return a * b + c;
    return fused(a, b, c);
  }
  static f fused(f a, f b, f c) {
    for (int lane = 0; lane < width; ++lane) c[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
    return c;
  }
  static f min(f a, f b) { return a < b ? a : b; }  // b if either is NaN
  static f max(f a, f b) { return a > b ? a : b; }  // b if either is NaN

  static i bits(f v) { return reinterpret_cast<i>(v); }
  static f from_bits(i v) { return reinterpret_cast<f>(v); }
  static i add_bits(i a, i b) { return reinterpret_cast<i>(reinterpret_cast<u>(a) + reinterpret_cast<u>(b)); }
  template <int N>
  static i shift_left(i v) {
    return reinterpret_cast<i>(reinterpret_cast<u>(v) << N);
  }
  template <int N>
  static i shift_right(i v) {
    return reinterpret_cast<i>(reinterpret_cast<u>(v) >> N);
  }
  static i shift_right(i v, int n) {
    return reinterpret_cast<i>(reinterpret_cast<u>(v) >> static_cast<std::uint32_t>(n));
  }
  static i and_bits(i a, i b) { return a & b; }
  static i or_bits(i a, i b) { return a | b; }
  // a where x < y (false for NaN), else b.
  static f where_less(f x, f y, f a, f b) { return x < y ? a : b; }
  // v in lanes [begin, end), else other.
  static f within(f v, int begin, int end, f other) {
    for (int lane = 0; lane < width; ++lane) other[lane] = lane >= begin && lane < end ? v[lane] : other[lane];
    return other;
  }

  // Halves are combined lane by lane until one lane is left.
  static float sum(f v) {
    for (int half = width / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) v[lane] = v[lane] + v[lane + half];
    return v[0];
  }
  static float largest(f v) {
    for (int half = width / 2; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) v[lane] = v[lane] > v[lane + half] ? v[lane] : v[lane + half];
    return v[0];
  }

  static f load_f16(const void* source) { return f16_to_float(widen(source)); }
  static void store_f16(void* target, f v) { narrow(target, float_to_f16(reinterpret_cast<u>(v))); }
  static f load_bf16(const void* source) { return reinterpret_cast<f>(widen(source) << 16); }
  static void store_bf16(void* target, f v) {
    const u raw = reinterpret_cast<u>(v);
    const u rounded = raw + ((raw >> 16) & 1U) + 0x7fffU;
    narrow(target, ((raw & 0x7fffffffU) > 0x7f800000U ? raw | 0x400000U : rounded) >> 16);
  }

  static f low_bf16(i pairs) { return from_bits(shift_left<16>(pairs)); }
  static f high_bf16(i pairs) { return reinterpret_cast<f>(reinterpret_cast<u>(pairs) & 0xffff0000U); }

  // Byte Input of each lane as a number: its low bits, up to 5, whatever lies above them.
  template <int Bits, int Input>
  static f low_bits(i v) {
    return number((reinterpret_cast<u>(v) >> (8 * Input)) & ((1U << Bits) - 1U));
  }
  // What the low 4 bits of byte Input stand for in a table.
  template <int Input>
  static f looked_up_number(const std::int8_t (&table)[16], i v) {
    f values;
    for (int lane = 0; lane < width; ++lane) values[lane] = table[v[lane] >> 8 * Input & 15];
    return values;
  }
  // What bytes of 0..15 stand for.
  static i looked_up(const std::uint8_t (&table)[16], i nibbles) {
    unsigned char bytes[sizeof(i)];
    __builtin_memcpy(bytes, &nibbles, sizeof bytes);
    for (unsigned char& byte : bytes) byte = table[byte];
    return read<i>(bytes);
  }
  // What turns byte(v) into (value - zero) * scale with fma.
  static f byte_scale(f scale) { return width == 16 ? scale * 256.0F : scale; }
  static f byte_offset(f scale, int zero) { return scale * static_cast<float>(width == 16 ? -256 - zero : -zero); }
  // Byte Input of each lane as a number, of 16 lanes as 1 + value / 256.
  template <int Input>
  static f byte(i v) {
    const u value = (reinterpret_cast<u>(v) >> (8 * Input)) & 255U;
    if constexpr (width == 16) return reinterpret_cast<f>((value << 15) | 0x3f800000U);
    return number(value);
  }
  static f number(i v) { return __builtin_convertvector(v, f); }
  static f signed_bytes(const void* source) {
    using bytes = std::int8_t __attribute__((vector_size(width)));
    return __builtin_convertvector(read<bytes>(source), f);
  }
  // 2^(b - 127) of bytes b, or 0 where b is 0.
  static f powers_of_two(const void* source) {
    using bytes = std::uint8_t __attribute__((vector_size(width)));
    return reinterpret_cast<f>(__builtin_convertvector(read<bytes>(source), u) << 23);
  }
  // Half the E4M3 numbers, without signs, of bytes; the code that is NaN elsewhere is 480.
  static f half_e4m3(const void* source) {
    using bytes = std::uint8_t __attribute__((vector_size(width)));
    return f16_to_float(__builtin_convertvector(read<bytes>(source), u) << 7) * 128.0F;
  }

  // Bytes of E4M3, whose bits are those of a float16, as numbers / e4m3_factor; NaN codes are none.
  static constexpr float e4m3_factor = 256;
  static f load_e4m3(const void* source) {
    using bytes = std::uint8_t __attribute__((vector_size(width)));
    const u v = __builtin_convertvector(read<bytes>(source), u);
    return f16_to_float(((v & 0x80U) << 8) | ((v & 0x7fU) << 7));
  }

  // One float16 in every lane.
  static f set_f16(const void* source) {
    std::uint16_t half;
    __builtin_memcpy(&half, source, sizeof half);
    return f16_to_float(u{} + half);
  }
  // Codes number `part` of `width` bytes, Bits each, as numbers.
  template <int Bits>
  static f codes(const void* source, int part) {
    using bytes = std::uint8_t __attribute__((vector_size(width)));
    const u v = __builtin_convertvector(read<bytes>(source), u);
    return number((v >> static_cast<std::uint32_t>(Bits == 8 ? 0 : part * Bits)) & ((1U << Bits) - 1U));
  }

 private:
  using halves = std::uint16_t __attribute__((vector_size(2 * width)));

  template <class T>
  static T read(const void* source) {
    T v;
    __builtin_memcpy(&v, source, sizeof v);
    return v;
  }
  static u widen(const void* source) { return __builtin_convertvector(read<halves>(source), u); }
  static void narrow(void* target, u v) {
    const halves low = __builtin_convertvector(v, halves);
    __builtin_memcpy(target, &low, sizeof low);
  }
  static f number(u v) { return number(reinterpret_cast<i>(v)); }

  static f f16_to_float(u half) {
    const u sign = (half & 0x8000U) << 16;
    const u magnitude = (half & 0x7fffU) << 13;
    const u subnormal = reinterpret_cast<u>(number(half & 0x3ffU) * 0x1p-24F);
    const u special = magnitude | 0x7f800000U;
    const u exponent = half & 0x7c00U;
    const u normal = magnitude + 0x38000000U;
    return reinterpret_cast<f>(sign | (exponent == 0U ? subnormal : exponent == 0x7c00U ? special : normal));
  }
  static u float_to_f16(u raw) {
    const u sign = (raw >> 16) & 0x8000U;
    const u magnitude = raw & 0x7fffffffU;
    const u normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    // Adding 0.5 leaves exactly a subnormal half's bits, rounded, at the bottom of the sum.
    const u small = reinterpret_cast<u>(reinterpret_cast<f>(magnitude) + 0.5F) - 0x3f000000U;
    const u finite = magnitude < 0x38800000U ? small : magnitude >= 0x477ff000U ? magnitude * 0U + 0x7c00U : normal;
    return sign | (magnitude > 0x7f800000U ? ((magnitude >> 13) & 0x3ffU) | 0x7e00U : finite);
  }
};

}  // namespace
}  // namespace cogen::kernels
