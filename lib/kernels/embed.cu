#include "kernels/device_numbers.cuh"
#include "kernels/embed_cuda.hpp"
#include "kernels/launch.cuh"

#include <algorithm>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int most_threads = 256;

template <class T, class Out>
__global__ void __launch_bounds__(most_threads) embed_kernel(embed_operands operands) {
  int token = operands.tokens[blockIdx.x];
  if (token == -1 && operands.slots != nullptr && operands.slots[blockIdx.x] >= 0)
    token = operands.last_tokens[operands.slots[blockIdx.x]];
  const bool known = token >= 0 && token < operands.vocabulary;
  const T* row = static_cast<const T*>(operands.table) + (known ? std::int64_t{token} * operands.width : 0);
  Out* out = static_cast<Out*>(operands.out) + std::int64_t{blockIdx.x} * operands.width;
  for (int at = static_cast<int>(threadIdx.x) * 8; at < operands.width; at += static_cast<int>(blockDim.x) * 8) {
    eight x{};
    if (known) x = load_eight(row + at);
#pragma unroll
    for (int i = 0; i < 8; ++i) x.at[i] *= operands.scale;
    store_eight(out + at, x);
  }
}

void check(const embed_operands& operands) {
  if (operands.width <= 0 || operands.width % 8 != 0)
    throw std::invalid_argument("embed: a width of " + std::to_string(operands.width) +
                                "; multiples of 8 are possible");
  if ((operands.type != number::f16 && operands.type != number::bf16) ||
      (operands.out_type != number::f32 && operands.out_type != operands.type))
    throw std::invalid_argument("embed: the types do not go together");
}

}  // namespace

void embed(const embed_operands& operands, cudaStream_t stream) {
  check(operands);
  const int threads = std::min(most_threads, (operands.width / 8 + 31) / 32 * 32);
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    const auto kernel = operands.out_type == number::f32 ? embed_kernel<T, float> : embed_kernel<T, T>;
    launch("embed", kernel, dim3(static_cast<unsigned>(operands.rows)), threads, stream, operands);
  });
}

}  // namespace cogen::kernels::cuda
