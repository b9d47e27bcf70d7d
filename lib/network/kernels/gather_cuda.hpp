#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Keys and values of some positions of one slot, to be laid out one after the other in device memory for kernels that
/// cannot read the layer as it is. Pointers are multiples of 16.
struct gathered_positions {
  int slot = 0;
  int first = 0;  // of the positions; the layer must still hold them
  int count = 0;
  int quantized = 0;           // positions below this, a multiple of 64, are read quantized
  void* keys = nullptr;        // [count, kv_heads, head_dim]
  void* values = nullptr;      // [count, kv_heads, head_dim]
  number type = number::bf16;  // f16 or bf16; the layer's own, or the layer keeps fp8
};

/// Quantized numbers are computed in float32 and rounded once. Throws std::invalid_argument for types or a head_dim (a
/// multiple of 8) that are not possible, std::runtime_error if the kernel cannot be launched.
void gather_keys_values(const kv_layer& layer, const gathered_positions& positions, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
