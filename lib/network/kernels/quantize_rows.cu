#include "network/kernels/fp8_rows.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/quantize_rows_cuda.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::kernels::cuda {
namespace {

constexpr int max_threads = 512;

// One row a block, which reads it twice: the second time from a cache.
template <class T>
__global__ void __launch_bounds__(max_threads) quantize_rows_kernel(quantize_rows_operands operands) {
  trigger_launch_completion();
  grid_dependency_synchronize();
  const std::int64_t row = std::int64_t{blockIdx.x} * operands.width;
  const T* const x = static_cast<const T*>(operands.x) + row;
  fp8* const codes = static_cast<fp8*>(operands.codes) + row;
  const int first = static_cast<int>(threadIdx.x) * 8, step = static_cast<int>(blockDim.x) * 8;

  float largest = 0.0F;
  for (int column = first; column < operands.width; column += step)
    largest = fmaxf(largest, largest_of(load_eight(x + column)));
  const float scale = fp8_scale(block_maximum(largest));
  for (int column = first; column < operands.width; column += step)
    store_as_fp8(codes, column, load_eight(x + column), scale);
  if (threadIdx.x == 0) operands.scales[blockIdx.x] = scale;
}

void check(const quantize_rows_operands& operands) {
  if (operands.width <= 0 || operands.width % 16 != 0)
    throw std::invalid_argument("quantize_rows: a width of " + std::to_string(operands.width) +
                                "; multiples of 16 are possible");
  if (operands.type != number::f16 && operands.type != number::bf16)
    throw std::invalid_argument("quantize_rows: only f16 and bf16 are possible");
}

}  // namespace

void quantize_rows(const quantize_rows_operands& operands, cudaStream_t stream) {
  check(operands);
  const int threads = std::min(max_threads, (operands.width / 8 + 31) / 32 * 32);
  with_half_type(operands.type, [&](auto type) {
    const launch_shape shape{dim3(static_cast<unsigned>(operands.rows)), threads, 0, true};
    launch("quantize_rows", quantize_rows_kernel<decltype(type)>, shape, stream, operands);
  });
}

}  // namespace cogen::kernels::cuda
