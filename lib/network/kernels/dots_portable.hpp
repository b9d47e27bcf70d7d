#pragma once

#include "network/kernels/int8_table.hpp"
#include "network/kernels/simd_portable.hpp"

#include <cstdint>
#include <type_traits>

namespace cogen::kernels {
namespace {

/// Products of four bytes a lane, summed in integers; see dots.hpp.
struct dots {
  using f = simd::f;
  using i = simd::i;
  using u = simd::u;
  // Rows of the register tiles: 4 vectors of outputs wide, and 2.
  static constexpr int wide_rows = simd::width == 16 ? 2 : 1;
  static constexpr int narrow_rows = simd::width == 16 ? 6 : 2;
  // Of the register tiles of code_products_body.hpp.
  static constexpr int code_rows = 3;
  static constexpr int code_vectors = 2;

  struct code_sum;
  struct quad {
    using sum = code_sum;
    std::int32_t numbers[4];
  };
  using byte_quad = quad;

  static i four(const std::int8_t* codes) {
    std::int32_t word;
    __builtin_memcpy(&word, codes, sizeof word);
    return i{} + word;
  }
  // Fused, as on processors that have it.
  static f fma(f a, f b, f c) { return simd::fused(a, b, c); }

  static void store_quads(quad* target, i numbers) {
    numbers -= sum_start;
    __builtin_memcpy(target, &numbers, sizeof numbers);
  }

  using spread_codes = i;
  static spread_codes spread(i codes) { return codes; }

  struct code_sum {
    i sum{};

    void add(spread_codes codes, const quad& factors) {
      for (int byte = 0; byte < 4; ++byte)
        sum += reinterpret_cast<i>((reinterpret_cast<u>(codes) >> (8 * byte)) & 255U) * factors.numbers[byte];
    }
    f value() const { return __builtin_convertvector(sum, f); }
  };

#if defined(COGEN_EMULATED_PAIRS)
  // Sums of 16 bits, as dots_avx2.hpp and dots_avx512.hpp without VNNI form them: products of a pair of bytes
  // saturate, and the sum of eight pairs wraps around.
  struct nibbles {
    static i begin(std::int32_t) { return i{}; }
    static i add(i sum, i weights, i codes) {
      return join(low_half(sum) + pair<0>(weights, codes), high_half(sum) + pair<16>(weights, codes));
    }
    static i finish(i sum, std::int32_t start) { return low_half(sum) + high_half(sum) + start; }
  };

  struct small_bytes {
    static i begin(std::int32_t start) { return i{} + start; }
    static i add(i sum, i weights, i codes) { return sum + pair<0>(weights, codes) + pair<16>(weights, codes); }
    static i finish(i sum, std::int32_t) { return sum; }
  };

  struct bytes {
    static i begin(std::int32_t) { return i{} + sum_start; }
    static i add(i sum, i weights, i codes) {
      const i8 unbiased = reinterpret_cast<i8>(weights ^ static_cast<std::int32_t>(0x80808080));
      const i8 signed_codes = reinterpret_cast<i8>(codes);
      const i magnitudes = reinterpret_cast<i>(unbiased < 0 ? -unbiased : unbiased);
      const i turned = reinterpret_cast<i>(unbiased < 0 ? -signed_codes : signed_codes);
      return sum + pair<0>(magnitudes, turned) + pair<16>(magnitudes, turned);
    }
    static i finish(i sum, std::int32_t) { return sum; }
  };

  template <int Bits>
  using sums_of = std::conditional_t<(Bits > 7), bytes, std::conditional_t<(Bits > 4), small_bytes, nibbles>>;

 private:
  using i8 = std::int8_t __attribute__((vector_size(sizeof(i))));

  static i low_half(i v) { return reinterpret_cast<i>(reinterpret_cast<u>(v) << 16) >> 16; }
  static i high_half(i v) { return v >> 16; }
  static i join(i low, i high) { return (low & 0xffff) | reinterpret_cast<i>(reinterpret_cast<u>(high) << 16); }

  template <int Shift>
  static i byte_at(i v) {  // signed
    return reinterpret_cast<i>(reinterpret_cast<u>(v) << (24 - Shift)) >> 24;
  }
  // Two unsigned weights times two signed codes, saturated to 16 bits.
  template <int Shift>
  static i pair(i weights, i codes) {
    const i sum = (byte_at<Shift>(weights) & 255) * byte_at<Shift>(codes) +
                  (byte_at<Shift + 8>(weights) & 255) * byte_at<Shift + 8>(codes);
    const i limited = sum > 32767 ? i{} + 32767 : sum;
    return limited < -32768 ? i{} - 32768 : limited;
  }
#else
  struct bytes {
    static i begin(std::int32_t start) { return i{} + start; }
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
  template <int Bits>
  using sums_of = bytes;
#endif
};

}  // namespace
}  // namespace cogen::kernels
