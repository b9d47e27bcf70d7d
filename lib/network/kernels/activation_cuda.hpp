#pragma once

#include "network/kernels/activation_kind.hpp"
#include "network/kernels/cache_layout.hpp"

#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// out = f(gate) * up. Pointers are to device memory, multiples of 16; rows lie one after the other.
struct gated_activation_operands {
  activation kind = activation::silu;  // silu or gelu_tanh
  const void* gate_up = nullptr;       // [rows, gate [width] | up [width]]
  void* out = nullptr;                 // [rows, width]
  number type = number::bf16;          // f16 or bf16; arithmetic is in float32
  int rows = 0;
  int width = 0;  // a multiple of 8
};

/// Each element's result depends on that element alone. Throws std::invalid_argument for operands that are not as said
/// above, std::runtime_error if the kernel cannot be launched.
void gated_activation(const gated_activation_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
