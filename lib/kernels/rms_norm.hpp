#pragma once

#include "kernels/execution.hpp"

#include <cstdint>

namespace cogen::kernels {

/// out = x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset), row by row (Zhang and Sennrich, arXiv:1910.07467).
/// Strides count floats between rows. out may be x.
struct rms_norm_operands {
  float* x = nullptr;  // [rows, width]; changed only if `add` is given
  std::int64_t x_stride = 0;
  const float* add = nullptr;  // [rows, width], or none: x += add before the norm
  std::int64_t add_stride = 0;
  const float* weight = nullptr;  // [width]
  float weight_offset = 0.0F;     // 1 in Gemma's convention
  float epsilon = 1e-5F;
  float* out = nullptr;  // [rows, width]
  std::int64_t out_stride = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// Each row's result depends on that row alone. Any thread.
void rms_norm(const execution& run, const rms_norm_operands& operands);

}  // namespace cogen::kernels
