#pragma once

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {
namespace {

/// 4 float32 lanes in the compiler's own vectors, for any processor. No fused multiply-add.
struct simd {
  using f = float __attribute__((vector_size(16)));
  using i = std::int32_t __attribute__((vector_size(16)));
  using u = std::uint32_t __attribute__((vector_size(16)));
  static constexpr int width = 4;
  // Rows of the register tiles of `linear`: 4 vectors wide or 2, dequantising in registers or reading a panel (0:
  // none).
  static constexpr int wide_rows = 2;
  static constexpr int narrow_rows = 6;
  static constexpr int wide_panel_rows = 0;
  static constexpr int narrow_panel_rows = 6;

  static f zero() { return f{}; }
  static f set(float value) { return f{value, value, value, value}; }
  static f load(const float* from) { return read<f>(from); }
  static f load_first(const float* from, int n) {
    f v{};
    for (int lane = 0; lane < width && lane < n; ++lane) v[lane] = from[lane];
    return v;
  }
  static void store(float* to, f v) { __builtin_memcpy(to, &v, sizeof v); }
  static void store_first(float* to, f v, int n) {
    for (int lane = 0; lane < width && lane < n; ++lane) to[lane] = v[lane];
  }
  static i load_bits(const void* from) { return read<i>(from); }

  static f add(f a, f b) { return a + b; }
  static f sub(f a, f b) { return a - b; }
  static f mul(f a, f b) { return a * b; }
  static f div(f a, f b) { return a / b; }
  static f fma(f a, f b, f c) { return a * b + c; }
  static f min(f a, f b) { return a < b ? a : b; }  // b if either is NaN
  static f max(f a, f b) { return a > b ? a : b; }  // b if either is NaN

  static i bits(f v) { return reinterpret_cast<i>(v); }
  static f from_bits(i v) { return reinterpret_cast<f>(v); }
  static i add_bits(i a, i b) { return reinterpret_cast<i>(reinterpret_cast<u>(a) + reinterpret_cast<u>(b)); }
  template <int N>
  static i shift_left(i v) {
    return reinterpret_cast<i>(reinterpret_cast<u>(v) << N);
  }
  // a where x < y (false for NaN), else b.
  static f where_less(f x, f y, f a, f b) { return x < y ? a : b; }
  // v in lanes [from, to), else other.
  static f within(f v, int from, int to, f other) {
    const i lane{0, 1, 2, 3};
    return ((lane >= from) & (lane < to)) ? v : other;
  }

  static float sum(f v) { return (v[0] + v[2]) + (v[1] + v[3]); }
  static float largest(f v) {
    const float a = v[0] > v[2] ? v[0] : v[2];
    const float b = v[1] > v[3] ? v[1] : v[3];
    return a > b ? a : b;
  }

  static f load_f16(const void* from) { return f16_to_float(widen(from)); }
  static void store_f16(void* to, f v) { narrow(to, float_to_f16(reinterpret_cast<u>(v))); }
  static f load_bf16(const void* from) { return reinterpret_cast<f>(widen(from) << 16); }
  static void store_bf16(void* to, f v) {
    const u raw = reinterpret_cast<u>(v);
    const u rounded = raw + ((raw >> 16) & 1U) + 0x7fffU;
    narrow(to, ((raw & 0x7fffffffU) > 0x7f800000U ? raw | 0x400000U : rounded) >> 16);
  }

  static f low_bf16(i pairs) { return from_bits(shift_left<16>(pairs)); }
  static f high_bf16(i pairs) { return reinterpret_cast<f>(reinterpret_cast<u>(pairs) & 0xffff0000U); }

  // Input 0..7 of eight 4-bit values a lane, as a number 0..15.
  template <int Input>
  static f nibble(i v) {
    constexpr int shift = Input < 4 ? 8 * Input : 8 * (Input - 4) + 4;
    return number((reinterpret_cast<u>(v) >> shift) & 15U);
  }
  // What turns byte(v) into (value - 128) * scale with one multiply and one add: see byte_offset.
  static f byte_scale(f scale) { return scale; }
  static f byte_offset(f scale) { return scale * -128.0F; }
  // Input 0..3 of four biased bytes a lane, as a number 0..255.
  template <int Input>
  static f byte(i v) {
    return number((reinterpret_cast<u>(v) >> (8 * Input)) & 255U);
  }

  // One float16 in every lane.
  static f set_f16(const void* from) {
    std::uint16_t half;
    __builtin_memcpy(&half, from, sizeof half);
    return f16_to_float(u{half, half, half, half});
  }
  // Codes number `part` of `width` bytes, Bits each, as numbers.
  template <int Bits>
  static f codes(const void* from, int part) {
    using bytes = std::uint8_t __attribute__((vector_size(4)));
    const u v = __builtin_convertvector(read<bytes>(from), u);
    return number((v >> static_cast<std::uint32_t>(Bits == 8 ? 0 : part * Bits)) & ((1U << Bits) - 1U));
  }

 private:
  using halves = std::uint16_t __attribute__((vector_size(8)));

  template <class T>
  static T read(const void* from) {
    T v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  static u widen(const void* from) { return __builtin_convertvector(read<halves>(from), u); }
  static void narrow(void* to, u v) {
    const halves low = __builtin_convertvector(v, halves);
    __builtin_memcpy(to, &low, sizeof low);
  }
  static f number(u v) { return __builtin_convertvector(reinterpret_cast<i>(v), f); }

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
