#pragma once

#include "network/kernels/cache_layout.hpp"
#include "network/kernels/packed_weights.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// out = the table's row of each token, times `scale`. Numbers of packed rows are those of dequantize(). Pointers are
/// to device memory; the table, its scales and out are multiples of 16.
struct embed_operands {
  const std::int32_t* tokens = nullptr;  // [rows]; one that is not in the vocabulary gives zeros
  const std::int32_t* slots = nullptr;  // [rows]; where a token is -1, it is last_tokens[slot] instead, if there is one
  const std::int32_t* last_tokens = nullptr;  // [slots]; may be null, with `slots`
  const void* table = nullptr;                // [vocabulary, width] of `type`, or packed
  weight_packing packing = weight_packing::whole;
  const void* scales = nullptr;   // [vocabulary, packed_row_scales()] of `type`, or none
  number type = number::bf16;     // f16 or bf16
  void* out = nullptr;            // [rows, width]
  number out_type = number::f32;  // f32, or `type`
  float scale = 1.0F;
  int rows = 0;
  int vocabulary = 0;
  int width = 0;  // a multiple of 8; of 32 where codes have groups
};

/// Throws std::invalid_argument for operands that are not as said above, std::runtime_error if the kernel cannot be
/// launched.
void embed(const embed_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
