#pragma once

#include "network/kernels/device_numbers.cuh"
#include "network/kernels/linear_cuda.hpp"
#include "network/kernels/packed_weights.cuh"

#include <cstdint>

// What makes a result of linear() what it is, to the bit, whichever kernel computes it. A row's numbers are cut into
// half steps, which `sums_of_row` sums take in turns; each sum adds up the products of its half steps in their order,
// by two matrix instructions each. At the end the sums are added up, the first one first.
namespace cogen::kernels::cuda {

inline constexpr int sums_of_row = 16;
inline constexpr int half_step = 32;     // numbers
inline constexpr int tile_outputs = 16;  // rows of weights that a matrix instruction multiplies

/// Of a sum of products. `scale` is that of the row's norm, where there are squares of it.
template <class T>
__device__ float result_of(const linear_operands& operands, float sum, float scale, int output) {
  if (operands.packing == weight_packing::int8 || operands.packing == weight_packing::fp8)
    sum *= scale_of_row<T>(operands.packing, operands.scales, output);
  if (operands.squares) sum *= scale;
  return operands.bias ? sum + float(static_cast<const T*>(operands.bias)[output]) : sum;
}

/// Of the sums for a gate and for what it is multiplied with.
template <class T>
__device__ float gated_result_of(const linear_operands& operands, float gate, float up, float scale, int output) {
  const float y = result_of<T>(operands, gate, scale, output);
  return y / (1.0F + expf(-y)) * result_of<T>(operands, up, scale, operands.outputs + output);
}

/// Returns what is there then.
template <class T>
__device__ float put(const linear_operands& operands, std::int64_t index, float y) {
  if (operands.out_type != number::f32) {
    static_cast<T*>(operands.out)[index] = T(y);
    return y;
  }
  float* const out = static_cast<float*>(operands.out) + index;
  return *out = operands.result == linear_result::added ? *out + y : y;
}

}  // namespace cogen::kernels::cuda
