#include "network/kernels/activation_cuda.hpp"
#include "network/kernels/device_numbers.cuh"
#include "network/kernels/launch.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

struct silu {
  static __device__ float apply(float x) { return x / (1.0F + expf(-x)); }
};

// 1 + tanh(u) is 2 / (1 + e^-2u); the factors are 2 sqrt(2 / π) and 0.044715 times that.
struct gelu_tanh {
  static __device__ float apply(float x) { return x / (1.0F + expf(-x * fmaf(7.13548163e-2F, x * x, 1.59576912F))); }
};

template <class Function, class T>
__global__ void __launch_bounds__(threads) gated_activation_kernel(gated_activation_operands operands) {
  trigger_launch_completion();
  grid_dependency_synchronize();
  const int parts = operands.width / 8;  // of a row
  const std::int64_t part = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (part >= std::int64_t{operands.rows} * parts) return;
  const std::int64_t row = part / parts;
  const T* gate = static_cast<const T*>(operands.gate_up) + (row * parts + part) * 8;
  const eight x = load_eight(gate), up = load_eight(gate + operands.width);
  eight y;
#pragma unroll
  for (int i = 0; i < 8; ++i) y.values[i] = Function::apply(x.values[i]) * up.values[i];
  store_eight(static_cast<T*>(operands.out) + part * 8, y);
}

void check(const gated_activation_operands& operands) {
  if (operands.width <= 0 || operands.width % 8 != 0)
    throw std::invalid_argument("gated_activation: a width of " + std::to_string(operands.width) +
                                "; multiples of 8 are possible");
  if (operands.kind != activation::silu && operands.kind != activation::gelu_tanh)
    throw std::invalid_argument("gated_activation: only silu and gelu_tanh are possible");
  if (operands.type != number::f16 && operands.type != number::bf16)
    throw std::invalid_argument("gated_activation: only f16 and bf16 are possible");
}

}  // namespace

void gated_activation(const gated_activation_operands& operands, cudaStream_t stream) {
  check(operands);
  const std::int64_t parts = std::int64_t{operands.rows} * (operands.width / 8);
  const dim3 grid(static_cast<unsigned>((parts + threads - 1) / threads));
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    const auto kernel =
        operands.kind == activation::silu ? gated_activation_kernel<silu, T> : gated_activation_kernel<gelu_tanh, T>;
    launch("gated_activation", kernel, launch_shape{grid, threads, 0, true}, stream, operands);
  });
}

}  // namespace cogen::kernels::cuda
