#pragma once

#include "kernels/activation_kind.hpp"
#include "kernels/execution.hpp"

#include <cstdint>

namespace cogen::kernels {

/// out = f(x), or f(x) * factor where there is one. Strides count floats between rows. out may be x.
struct activation_operands {
  activation kind = activation::silu;
  const float* x = nullptr;  // [rows, width]
  std::int64_t x_stride = 0;
  const float* factor = nullptr;  // [rows, width], or none
  std::int64_t factor_stride = 0;
  float* out = nullptr;  // [rows, width]
  std::int64_t out_stride = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

/// Each element's result depends on that element alone; relative error about 5e-7 where the result is not tiny beside
/// its input. Any thread.
void activate(const execution& run, const activation_operands& operands);

}  // namespace cogen::kernels
