#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/prologue.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/tiled_matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace cogen::kernels {

/// The operands of y = x W^T (+ bias) (+ y). Strides count floats between rows. x and y do not overlap.
struct linear_operands {
  strided_rows<const float> x;      // [rows, inputs]
  const prologue* maker = nullptr;  // of x's rows, where they are not there yet
  strided_rows<float> y;            // [rows, outputs]
  std::int64_t rows = 0;
  const float* bias = nullptr;  // [outputs], or none
  bool add_to_y = false;        // a residual: y += instead of y =
  float* scratch = nullptr;     // [linear_scratch_floats()], aligned to 64 bytes, where that is not 0
};

/// What a product of so many rows takes beside its operands: 0 with compute_type::float32, what rows are rounded to
/// with compute_type::int8.
std::int64_t linear_scratch_floats(const execution& run, const tiled_matrix& weights, std::int64_t rows);

/// Multiplies rows of activations by tiled weights.
///
/// Each output is one chain of fused (portable: plain) multiply-adds over ascending inputs, then + bias, then + y: the
/// same bits whatever the other rows, the number of rows and of threads. Weights are used as exactly the float32 values
/// that their format defines.
///
/// With compute_type::int8 and quantized weights the chain has a link for each 32 inputs (int8_body.hpp), whose bits
/// are the same on all instruction sets too, and an input that is not finite, or 2^100 and more, makes its row's
/// outputs NaN; with bf16 weights on a set that multiplies those it is the processor's own. Any thread; allocates
/// nothing. Zero rows are fine.
void linear(const execution& run, const tiled_matrix& weights, const linear_operands& operands);

/// One of several products.
struct linear_product {
  const tiled_matrix* weights = nullptr;
  linear_operands operands;
};

/// As many products are made together.
constexpr std::size_t max_together = 32;

/// The same bits as each product alone, and threads wait for each other only once for many of them. No product writes
/// what another one reads; scratch is each one's own.
void linear(const execution& run, std::span<const linear_product> products);

}  // namespace cogen::kernels
