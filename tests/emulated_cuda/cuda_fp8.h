#pragma once

#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3 };

struct __nv_fp8_e4m3 {
  __nv_fp8_storage_t bits;
};

namespace emulated_cuda {

/// 4 bits of exponent and 3 of fraction (OFP8, Open Compute Project); no infinity, and 448 the largest.
inline float value_of_e4m3(unsigned code) {
  const int exponent = static_cast<int>(code >> 3 & 15), fraction = static_cast<int>(code & 7);
  const float sign = (code & 0x80) != 0 ? -1.0F : 1.0F;
  if ((code & 0x7f) == 0x7f) return NAN;
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                               : std::ldexp(static_cast<float>(8 + fraction), exponent - 10));
}

/// The nearest, of two the even one; beyond the range the largest.
inline unsigned e4m3_of(float x) {
  if (std::isnan(x)) return 0x7f;
  const unsigned sign = std::signbit(x) ? 0x80 : 0;
  const float size = std::fmin(std::fabs(x), 448.0F);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), -6);
  const float units = std::nearbyint(std::ldexp(size, 3 - exponent));
  return sign | static_cast<unsigned>(8 * (exponent + 7) + static_cast<int>(units) - 8);
}

}  // namespace emulated_cuda

inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t pair, __nv_fp8_interpretation_t) {
  const auto half = [](unsigned code) {
    return std::bit_cast<unsigned short>(static_cast<_Float16>(emulated_cuda::value_of_e4m3(code)));
  };
  return {half(pair & 0xff), half(pair >> 8)};
}

inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 pair, __nv_saturation_t, __nv_fp8_interpretation_t) {
  return static_cast<__nv_fp8x2_storage_t>(emulated_cuda::e4m3_of(pair.x) | emulated_cuda::e4m3_of(pair.y) << 8);
}

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t, __nv_fp8_interpretation_t) {
  return static_cast<__nv_fp8_storage_t>(emulated_cuda::e4m3_of(x));
}

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t code, __nv_fp8_interpretation_t format) {
  return {__nv_cvt_fp8x2_to_halfraw2(code, format).x};
}
