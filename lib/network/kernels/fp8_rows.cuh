#pragma once

#include "network/kernels/device_numbers.cuh"

// Rows that become codes of fp8 with a scale, by a block of threads each.
namespace cogen::kernels::cuda {

__device__ inline float largest_of(const eight& x) {
  float largest = 0.0F;
#pragma unroll
  for (const float each : x.values) largest = fmaxf(largest, fabsf(each));
  return largest;
}

/// The largest of all threads of a block of up to 512, the same in each.
__device__ inline float block_maximum(float x) {
  __shared__ float warps[16];
  for (int lanes = 16; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, lanes));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  float largest = 0.0F;
  for (int warp = 0; warp < blockDim.x / 32; ++warp) largest = fmaxf(largest, warps[warp]);
  return largest;
}

/// The scale of a row, of which `largest` is the largest number.
__device__ inline float fp8_scale(float largest) { return largest / 448.0F; }

__device__ inline void store_as_fp8(void* row, int column, eight x, float scale) {
  constexpr float least = 1.17549435e-38F;  // a row of zeros has no scale
#pragma unroll
  for (float& each : x.values) each /= fmaxf(scale, least);
  store_eight(static_cast<fp8*>(row) + column, x);
}

}  // namespace cogen::kernels::cuda
