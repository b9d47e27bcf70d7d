#pragma once

#include "cuda_runtime.h"

struct __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float x) : bits(rounded(x)) {}
  operator float() const { return std::bit_cast<float>(static_cast<unsigned>(bits) << 16); }

 private:
  static unsigned short rounded(float x) {  // to the nearest, of two the even one
    if (std::isnan(x)) return 0x7fff;
    const auto all = std::bit_cast<unsigned>(x);
    return static_cast<unsigned short>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 pair) { return {pair.x, pair.y}; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return {x}; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
