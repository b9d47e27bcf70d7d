#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// residual += delta, then out = residual / sqrt(mean(residual^2) + epsilon) * (weight + weight_offset), row by row
/// (Zhang and Sennrich, arXiv:1910.07467). The norm is of the sum as it was stored; all arithmetic is in float32. With
/// scales, out are the codes of quantize_rows() for what it would be without. All pointers are to device memory,
/// multiples of 16.
struct add_rms_norm_operands {
  void* residual = nullptr;            // [rows, width]; changed only if there is a delta
  number residual_type = number::f32;  // f32, or `type`
  const void* delta = nullptr;         // [rows, width] of `type`, or none
  const void* weight = nullptr;        // [width]
  number weight_type = number::bf16;   // f32, or `type`
  float weight_offset = 0.0F;          // 1 in Gemma's convention
  float epsilon = 1e-5F;
  void* out = nullptr;         // [rows, width] of `type`, or of fp8
  float* scales = nullptr;     // [rows], or none
  number type = number::bf16;  // f16 or bf16
  int rows = 0;
  int width = 0;  // a multiple of 8, at most 16,384
};

/// Each row's result depends on that row alone. Throws std::invalid_argument for operands that are not as said above,
/// std::runtime_error if the kernel cannot be launched.
void add_rms_norm(const add_rms_norm_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
