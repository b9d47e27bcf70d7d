#include "network/kernels/fp8_rows.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/rms_norm_cuda.hpp"

#include <algorithm>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int max_threads = 512;
constexpr int max_width = 16384;

// The sum over all threads of a block, the same in each. Added up in an order that depends on the number of threads
// alone.
__device__ float block_sum(float x) {
  __shared__ float warps[max_threads / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffff, x, lanes);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0.0F;
  for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += warps[warp];
  return sum;
}

template <int Parts>
__device__ void store_row_as_fp8(const add_rms_norm_operands& operands, std::int64_t row, const eight (&x)[Parts]) {
  const auto place = [](int part) { return (part * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8; };
  float largest = 0.0F;
#pragma unroll
  for (int part = 0; part < Parts; ++part)
    if (place(part) < operands.width) largest = fmaxf(largest, largest_of(x[part]));
  const float scale = fp8_scale(block_maximum(largest));
#pragma unroll
  for (int part = 0; part < Parts; ++part)
    if (place(part) < operands.width) store_as_fp8(static_cast<fp8*>(operands.out) + row, place(part), x[part], scale);
  if (threadIdx.x == 0) operands.scales[blockIdx.x] = scale;
}

// One row a block; each thread keeps its numbers, `Parts` times eight, in registers.
template <class Residual, class T, class Weight, int Parts>
__global__ void __launch_bounds__(max_threads) add_rms_norm_kernel(add_rms_norm_operands operands) {
  trigger_launch_completion();
  grid_dependency_synchronize();
  const std::int64_t row = std::int64_t{blockIdx.x} * operands.width;
  Residual* residual = static_cast<Residual*>(operands.residual) + row;
  const T* delta = operands.delta ? static_cast<const T*>(operands.delta) + row : nullptr;
  const Weight* weight = static_cast<const Weight*>(operands.weight);

  eight x[Parts];
  float squares = 0.0F;
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int column = (part * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    if (column >= operands.width) continue;
    x[part] = load_eight(residual + column);
    if (delta) {
      const eight more = load_eight(delta + column);
#pragma unroll
      for (int i = 0; i < 8; ++i) x[part].values[i] += more.values[i];
      store_eight(residual + column, x[part]);
      x[part] = rounded<Residual>(x[part]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) squares = fmaf(x[part].values[i], x[part].values[i], squares);
  }
  const float mean = block_sum(squares) / static_cast<float>(operands.width);
  const float scale = 1.0F / sqrtf(mean + operands.epsilon);
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int column = (part * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * 8;
    if (column >= operands.width) continue;
    const eight factor = load_eight(weight + column);
    eight y;
#pragma unroll
    for (int i = 0; i < 8; ++i) y.values[i] = x[part].values[i] * scale * (factor.values[i] + operands.weight_offset);
    if (operands.scales)
      x[part] = rounded<T>(y);
    else
      store_eight(static_cast<T*>(operands.out) + row + column, y);
  }
  if (operands.scales) store_row_as_fp8(operands, row, x);
}

template <class Residual, class T, class Weight>
void launch_add_rms_norm(const add_rms_norm_operands& operands, cudaStream_t stream) {
  const int parts = (operands.width / 8 + max_threads - 1) / max_threads;
  const int threads = std::min(max_threads, (operands.width / 8 + 31) / 32 * 32);
  const auto with = [&](void (*kernel)(add_rms_norm_operands)) {
    const launch_shape shape{dim3(static_cast<unsigned>(operands.rows)), threads, 0, true};
    launch("add_rms_norm", kernel, shape, stream, operands);
  };
  if (parts <= 1) return with(add_rms_norm_kernel<Residual, T, Weight, 1>);
  if (parts <= 2) return with(add_rms_norm_kernel<Residual, T, Weight, 2>);
  with(add_rms_norm_kernel<Residual, T, Weight, 4>);
}

void check(const add_rms_norm_operands& operands) {
  const auto fits = [&](number type) { return type == number::f32 || type == operands.type; };
  if (operands.width <= 0 || operands.width % 8 != 0 || operands.width > max_width)
    throw std::invalid_argument("add_rms_norm: a width of " + std::to_string(operands.width) +
                                "; multiples of 8 up to " + std::to_string(max_width) + " are possible");
  if ((operands.type != number::f16 && operands.type != number::bf16) || !fits(operands.residual_type) ||
      !fits(operands.weight_type))
    throw std::invalid_argument("add_rms_norm: unsupported combination of types");
}

}  // namespace

void add_rms_norm(const add_rms_norm_operands& operands, cudaStream_t stream) {
  check(operands);
  const bool wide = operands.residual_type == number::f32, wide_weight = operands.weight_type == number::f32;
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    if (wide && wide_weight) return launch_add_rms_norm<float, T, float>(operands, stream);
    if (wide) return launch_add_rms_norm<float, T, T>(operands, stream);
    if (wide_weight) return launch_add_rms_norm<T, T, float>(operands, stream);
    launch_add_rms_norm<T, T, T>(operands, stream);
  });
}

}  // namespace cogen::kernels::cuda
