#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"

#include <cstdint>

namespace cogen::kernels {

/// out = (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias, row by row (Ba et al., arXiv:1607.06450); the
/// variance is the mean of squared differences. Strides count floats between rows. out may be x.
struct layer_norm_operands {
  strided_rows<const float> x;    // [rows, width]
  const float* weight = nullptr;  // [width]
  const float* bias = nullptr;    // [width]
  float epsilon = 1e-5F;
  strided_rows<float> out;  // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// Each row's result depends on that row alone. Any thread.
void layer_norm(const execution& run, const layer_norm_operands& operands);

}  // namespace cogen::kernels
