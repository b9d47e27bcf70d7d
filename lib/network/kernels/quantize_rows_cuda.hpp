#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Rows for products in fp8 (OCP's E4M3): number = code * scale, where a row's scale is its largest number's size by
/// 448. Codes are the nearest, of two the even one. A row with a number that is not finite has a code that is not a
/// number. All pointers are to device memory, multiples of 16.
struct quantize_rows_operands {
  const void* x = nullptr;     // [rows, width] of `type`
  number type = number::bf16;  // f16 or bf16
  void* codes = nullptr;       // [rows, width] of fp8
  float* scales = nullptr;     // [rows]
  int rows = 0;
  int width = 0;  // a multiple of 16
};

/// Each row's result depends on that row alone. Throws std::invalid_argument for operands that are not as said above,
/// std::runtime_error if the kernel cannot be launched.
void quantize_rows(const quantize_rows_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
