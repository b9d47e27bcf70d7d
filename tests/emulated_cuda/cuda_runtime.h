#pragma once

#include "block.hpp"
#include "cuda_runtime_api.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

// The part of CUDA C++ that kernels here are written in, as C++: a .cu file is compiled with this file before it. The
// threads of a block take turns (block.hpp), and what a block shares is static, as one block runs at a time.

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__

struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline constexpr const dim3& threadIdx = emulated_cuda::here.thread;
inline constexpr const dim3& blockIdx = emulated_cuda::here.block;
inline constexpr const dim3& blockDim = emulated_cuda::here.threads;
inline constexpr const dim3& gridDim = emulated_cuda::here.blocks;

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}

using std::isnan;

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }

/// Four of the eight bytes of `low` and `high`, as the digits of `selector` say from the lowest up.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  unsigned x = 0;
  for (int i = 0; i < 4; ++i) x |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return x;
}

/// No other thread runs meanwhile.
template <class T, class U>
T atomicAdd(T* at, U value) {
  const T before = *at;
  *at = static_cast<T>(before + value);
  return before;
}

/// As blocks take turns, all that was written can be seen.
inline void __threadfence() {}

template <class T>
T __ldcg(const T* source) {
  return *source;
}

inline void __syncthreads() { emulated_cuda::synchronize(false); }
inline int __syncthreads_or(int value) { return emulated_cuda::synchronize(value != 0) ? 1 : 0; }

inline void __syncwarp(unsigned lanes = 0xffffffff) { emulated_cuda::gather("__syncwarp", lanes, 0); }

template <class T>
T __shfl_sync(unsigned lanes, T value, int source) {
  return emulated_cuda::gather("__shfl_sync", lanes, value).get(source % 32);
}

template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int distance) {
  const auto values = emulated_cuda::gather("__shfl_xor_sync", lanes, value);
  return values.get(values.lane ^ distance);
}

template <class T>
T __shfl_up_sync(unsigned lanes, T value, int distance) {
  const auto values = emulated_cuda::gather("__shfl_up_sync", lanes, value);
  return values.lane < distance ? value : values.get(values.lane - distance);
}

inline unsigned __ballot_sync(unsigned lanes, bool value) {
  const auto values = emulated_cuda::gather("__ballot_sync", lanes, value);
  unsigned all = 0;
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1) != 0 && values.get(lane)) all |= 1U << lane;
  return all;
}

inline int __any_sync(unsigned lanes, bool value) { return __ballot_sync(lanes, value) != 0 ? 1 : 0; }

struct cudaLaunchAttribute {
  int id = 0;
  struct {
    int programmaticStreamSerializationAllowed = 0;
  } val;
};
enum { cudaLaunchAttributeProgrammaticStreamSerialization = 6, cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

namespace emulated_cuda {

/// Runs it, or records it where the stream is captured.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace emulated_cuda

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  if (config->dynamicSmemBytes > emulated_cuda::max_shared_bytes || config->blockDim.x > 1024)
    return cudaErrorInvalidValue;
  const std::tuple<std::decay_t<Parameters>...> copies(arguments...);
  return emulated_cuda::enqueue(config->stream, [=, config = *config] {
    emulated_cuda::run({config.gridDim, config.blockDim, config.dynamicSmemBytes}, [&] { std::apply(kernel, copies); });
  });
}

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, int, int) {
  return cudaSuccess;
}
