#pragma once

#include "cuda_runtime.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};

struct __half {
  _Float16 value;

  __half() = default;
  __half(float x) : value(static_cast<_Float16>(x)) {}
  explicit __half(const __half_raw& raw) : value(std::bit_cast<_Float16>(raw.x)) {}
  operator float() const { return static_cast<float>(value); }
};

struct alignas(4) __half2 {
  __half x, y;
};

inline __half __float2half_rn(float x) { return {x}; }
inline float __half2float(__half x) { return x; }
inline float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
inline __half2 __float22half2_rn(float2 pair) { return {pair.x, pair.y}; }
