#pragma once

#include "kernels/execution.hpp"

#include <cstdint>

namespace cogen::kernels {

/// out = gate / (1 + exp(-gate)) * up, where each row of gate_up holds `width` gates, then `width` ups.
/// Strides count floats between rows. out may be the gates' half of gate_up itself.
struct silu_mul_operands {
  const float* gate_up = nullptr;  // [rows, 2 * width]
  std::int64_t gate_up_stride = 0;
  float* out = nullptr;  // [rows, width]
  std::int64_t out_stride = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// Each element's result depends on that element alone; relative error of the exponential about 1e-7. Any thread.
void silu_mul(const execution& run, const silu_mul_operands& operands);

}  // namespace cogen::kernels
