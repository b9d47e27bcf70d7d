#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// Numbers of every format as float32, eight at a time.
namespace cogen::kernels::cuda {

using f16 = __half;
using bf16 = __nv_bfloat16;
using fp8 = __nv_fp8_e4m3;

struct eight {
  float values[8];
};

__device__ inline float2 widen(__half2 pair) { return __half22float2(pair); }
__device__ inline float2 widen(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }

__device__ inline void narrow(float2 pair, __half2& target) { target = __float22half2_rn(pair); }
__device__ inline void narrow(float2 pair, __nv_bfloat162& target) { target = __float22bfloat162_rn(pair); }

/// Two numbers that lie in one word.
template <class T>
struct pair_of;
template <>
struct pair_of<f16> {
  using type = __half2;
};
template <>
struct pair_of<bf16> {
  using type = __nv_bfloat162;
};

template <class T>
__device__ inline float2 widen_word(std::uint32_t word) {
  typename pair_of<T>::type pair;
  memcpy(&pair, &word, sizeof pair);
  return widen(pair);
}

template <class T>
__device__ inline std::uint32_t word_of(float first, float second) {
  typename pair_of<T>::type pair;
  narrow(make_float2(first, second), pair);
  std::uint32_t word;
  memcpy(&word, &pair, sizeof word);
  return word;
}

/// Two fp8 numbers as a word of two f16: exact.
__device__ inline std::uint32_t f16_word_of_fp8(std::uint32_t two) {
  const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
  return pair.x | static_cast<std::uint32_t>(pair.y) << 16;
}

/// Two numbers rounded to fp8; beyond its range the nearest number in it.
__device__ inline std::uint32_t fp8_of(float first, float second) {
  return __nv_cvt_float2_to_fp8x2(make_float2(first, second), __NV_SATFINITE, __NV_E4M3);
}

template <class T>
__device__ inline eight load_eight(const T* source) {
  const uint4 words = *reinterpret_cast<const uint4*>(source);
  const float2 a = widen_word<T>(words.x), b = widen_word<T>(words.y);
  const float2 c = widen_word<T>(words.z), d = widen_word<T>(words.w);
  return {a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y};
}

template <>
__device__ inline eight load_eight(const float* source) {
  const float4 a = reinterpret_cast<const float4*>(source)[0], b = reinterpret_cast<const float4*>(source)[1];
  return {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
}

template <>
__device__ inline eight load_eight(const fp8* source) {
  const uint2 words = *reinterpret_cast<const uint2*>(source);
  const float2 a = widen_word<f16>(f16_word_of_fp8(words.x & 0xffff));
  const float2 b = widen_word<f16>(f16_word_of_fp8(words.x >> 16));
  const float2 c = widen_word<f16>(f16_word_of_fp8(words.y & 0xffff));
  const float2 d = widen_word<f16>(f16_word_of_fp8(words.y >> 16));
  return {a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y};
}

template <class T>
__device__ inline void store_eight(T* target, const eight& x) {
  *reinterpret_cast<uint4*>(target) =
      make_uint4(word_of<T>(x.values[0], x.values[1]), word_of<T>(x.values[2], x.values[3]),
                 word_of<T>(x.values[4], x.values[5]), word_of<T>(x.values[6], x.values[7]));
}

template <>
__device__ inline void store_eight(float* target, const eight& x) {
  reinterpret_cast<float4*>(target)[0] = make_float4(x.values[0], x.values[1], x.values[2], x.values[3]);
  reinterpret_cast<float4*>(target)[1] = make_float4(x.values[4], x.values[5], x.values[6], x.values[7]);
}

template <>
__device__ inline void store_eight(fp8* target, const eight& x) {
  *reinterpret_cast<uint2*>(target) =
      make_uint2(fp8_of(x.values[0], x.values[1]) | fp8_of(x.values[2], x.values[3]) << 16,
                 fp8_of(x.values[4], x.values[5]) | fp8_of(x.values[6], x.values[7]) << 16);
}

/// The numbers as they will be read once they have been stored as T.
template <class T>
__device__ inline eight rounded(const eight& x) {
  eight y;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const float2 pair = widen_word<T>(word_of<T>(x.values[i], x.values[i + 1]));
    y.values[i] = pair.x;
    y.values[i + 1] = pair.y;
  }
  return y;
}

template <>
__device__ inline eight rounded<float>(const eight& x) {
  return x;
}

/// Calls use(T{}) with the type of f16 or bf16 numbers; false for other formats.
template <class Use>
bool with_half_type(number type, Use use) {
  if (type == number::f16) return use(f16{}), true;
  if (type == number::bf16) return use(bf16{}), true;
  return false;
}

}  // namespace cogen::kernels::cuda
