#pragma once

#include "network/kernels/cache_layout.hpp"
#include "network/kernels/packed_weights.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Rows that one product takes, at most, and one of a norm of x.
inline constexpr int max_linear_rows = 64, max_normed_rows = 16;

/// Consecutive numbers of a row whose squares are added up, for a norm of the row.
inline constexpr int squared_numbers = 16;

/// What becomes of a product y.
enum class linear_result : std::uint8_t {
  stored,  // out = y
  added,   // out += y
  gated,   // out = silu(y) * z, where z is the product with the weights' second half
};

/// For the product that reads a norm of `out` next: what does not depend on all of a row.
struct next_input {
  const void* norm = nullptr;  // [outputs] of `type`, the norm's weights; or none
  void* x = nullptr;           // [rows, outputs] of `type`: out * norm
  float* squares = nullptr;    // [rows, outputs / squared_numbers, rounded up], sums of the squares of out
};

/// y = x W^T + bias, for few rows: a matrix is read once, as fast as memory gives it. Where there is a norm, x is
/// x / sqrt(mean(x^2) + epsilon) * norm first, rounded to `type`. Where there are squares, y is divided by that root
/// before the bias is added, which is the same but for rounding. Packed weights are code * scale (int8, fp8), or in
/// groups code * scale + zero, rounded to `type` once. Sums are in float32. All pointers are to device memory,
/// multiples of 16.
struct linear_operands {
  const void* x = nullptr;         // [rows, inputs] of `type`; of f32 where there is a norm
  const void* norm = nullptr;      // [inputs] of `type`, or none
  const float* squares = nullptr;  // next_input's, where x is; or none
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
  next_input next = {};            // only where something is added
  int rows = 0;                    // max_rows_of() at most
  int inputs = 0;                  // a multiple of 8; of 32 where codes have groups
  int outputs = 0;
  int blocks = 0;  // thread blocks, at most: best as many as the device has multiprocessors
};

/// Rows that such a product takes, at most.
inline int max_rows_of(const linear_operands& operands) { return operands.norm ? max_normed_rows : max_linear_rows; }

/// Each row's result depends on that row alone, to the bit, whatever `rows` and `blocks` are. Weights, and these alone,
/// may be read before earlier kernels of a graph have ended. Throws std::invalid_argument for operands that are not as
/// said above, std::runtime_error if the kernel cannot be launched.
void linear(const linear_operands& operands, cudaStream_t stream);

/// The same results, to the bit, of any number of rows, with whole weights and without a norm. Reads a matrix once for
/// each 64 or 128 rows, and is faster where there are more than max_linear_rows; weights are not read ahead. Throws as
/// linear() does.
void linear_of_many_rows(const linear_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
