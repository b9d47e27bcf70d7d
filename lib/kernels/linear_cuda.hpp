#pragma once

#include "kernels/device_cache.hpp"
#include "kernels/packed_weights.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Rows that one product takes, at most.
inline constexpr int most_linear_rows = 16;

/// What becomes of a product y.
enum class linear_result : std::uint8_t {
  stored,  // out = y
  added,   // out += y
  gated,   // out = silu(y) * z, where z is the product with the weights' second half
};

/// y = x W^T + bias, for few rows: a matrix is read once, as fast as memory gives it. Where there is a norm, x is
/// x / sqrt(mean(x^2) + epsilon) * norm first, rounded to `type`. Packed weights are code * scale (int8, fp8), or in
/// groups code * scale + zero, rounded to `type` once. Sums are in float32. All pointers are to device memory,
/// multiples of 16.
struct linear_operands {
  const void* x = nullptr;     // [rows, inputs] of `type`; of f32 where there is a norm
  const void* norm = nullptr;  // [inputs] of `type`, or none
  float epsilon = 1e-5F;
  const void* weights =
      nullptr;  // [outputs, inputs] of `type`, or packed; gated: [gate [outputs] | up [outputs], inputs]
  weight_packing packing = weight_packing::whole;
  const void* scales = nullptr;  // [outputs, packed_row_scales()] of `type` (fp8: [outputs] of f32), or none
  const void* bias = nullptr;    // [outputs] of `type`, or none; gated: [2 * outputs]
  linear_result result = linear_result::stored;
  void* out = nullptr;             // [rows, outputs]; not x
  number out_type = number::bf16;  // f32, or `type`; only f32 is added to
  number type = number::bf16;      // f16 or bf16
  int rows = 0;                    // most_linear_rows at most
  int inputs = 0;                  // a multiple of 8; of 32 where codes have groups
  int outputs = 0;
  int blocks = 0;  // thread blocks, at most: best as many as the device has multiprocessors
};

/// Each row's result depends on that row alone, to the bit, whatever `rows` and `blocks` are. Weights, and these alone,
/// may be read before earlier kernels of a graph have ended. Throws std::invalid_argument for operands that are not as
/// said above, std::runtime_error if the kernel cannot be launched.
void linear(const linear_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
