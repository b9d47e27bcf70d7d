#pragma once

#include "network/kernels/cache_layout.hpp"
#include "network/kernels/packed_weights.hpp"

#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Packed weights, as linear_operands has them, for products of many rows. All pointers are to device memory, multiples
/// of 16.
struct packed_matrix {
  const void* codes = nullptr;
  const void* scales = nullptr;
  weight_packing packing = weight_packing::int8;  // not whole
  number type = number::bf16;                     // f16 or bf16
  int inputs = 0;                                 // a multiple of 8; of 32 where codes have groups
  int outputs = 0;
};

/// Writes its numbers to `out` [outputs, inputs] of `type`, rounded. Throws std::invalid_argument for a matrix that is
/// not as said above, std::runtime_error if the kernel cannot be launched.
void dequantize(const packed_matrix& matrix, void* out, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
