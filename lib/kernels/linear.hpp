#pragma once

#include "kernels/execution.hpp"
#include "kernels/packed_matrix.hpp"

#include <cstdint>

namespace cogen::kernels {

/// The operands of y = x W^T (+ bias) (+ y). Strides count floats between rows. x and y do not overlap.
struct linear_operands {
  const float* x = nullptr;  // [rows, inputs]
  std::int64_t x_stride = 0;
  float* y = nullptr;  // [rows, outputs]
  std::int64_t y_stride = 0;
  std::int64_t rows = 0;
  const float* bias = nullptr;  // [outputs], or none
  bool add_to_y = false;        // a residual: y += instead of y =
};

/// Multiplies rows of activations by packed weights.
///
/// Each output is one chain of fused (portable: plain) multiply-adds over ascending inputs, then + bias, then + y: the
/// same bits whatever the other rows, the number of rows and of threads. Weights are used as exactly the float32 values
/// that their format defines. Any thread; allocates nothing. Zero rows are fine.
void linear(const execution& run, const packed_matrix& weights, const linear_operands& operands);

}  // namespace cogen::kernels
