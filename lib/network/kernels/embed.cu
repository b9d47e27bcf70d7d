#include "network/kernels/device_numbers.cuh"
#include "network/kernels/embed_cuda.hpp"
#include "network/kernels/launch.cuh"
#include "network/kernels/packed_rows.cuh"

#include <algorithm>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int max_threads = 256;

// Of the block's row; -1 if it is not in the vocabulary.
__device__ int token_of(const embed_operands& operands) {
  int token = operands.tokens[blockIdx.x];
  if (token == -1 && operands.slots != nullptr && operands.slots[blockIdx.x] >= 0)
    token = operands.last_tokens[operands.slots[blockIdx.x]];
  return token < operands.vocabulary ? max(token, -1) : -1;
}

// Where the block's row is written to.
template <class Out>
__device__ Out* out_of(const embed_operands& operands) {
  return static_cast<Out*>(operands.out) + std::int64_t{blockIdx.x} * operands.width;
}

template <class Out>
__device__ void store_scaled(Out* target, eight x, float scale) {
#pragma unroll
  for (auto& number : x.values) number *= scale;
  store_eight(target, x);
}

template <class T, class Out>
__global__ void __launch_bounds__(max_threads) embed_kernel(embed_operands operands) {
  const int token = token_of(operands);
  const T* row = static_cast<const T*>(operands.table) + std::int64_t{max(token, 0)} * operands.width;
  Out* out = out_of<Out>(operands);
  for (int column = static_cast<int>(threadIdx.x) * 8; column < operands.width;
       column += static_cast<int>(blockDim.x) * 8)
    store_scaled(out + column, token >= 0 ? load_eight(row + column) : eight{}, operands.scale);
}

template <class Weights, class Out>
__global__ void __launch_bounds__(max_threads) embed_packed_kernel(embed_operands operands) {
  using T = typename Weights::number;
  const int token = token_of(operands);
  const packed_rows table{operands.table, operands.scales, operands.width};
  const auto pieces = static_cast<int>(4 * packed_blocks(Weights::packing, operands.width));
  Out* out = out_of<Out>(operands);
  for (int piece = static_cast<int>(threadIdx.x); piece < pieces; piece += static_cast<int>(blockDim.x))
    for_each_eight<Weights>(table, max(token, 0), piece, [=](int eighth, const words<4>& x) {
      store_scaled(out + 8 * eighth, token >= 0 ? widened<T>(x) : eight{}, operands.scale);
    });
}

void check(const embed_operands& operands) {
  if (operands.width <= 0 || operands.width % 8 != 0)
    throw std::invalid_argument("embed: a width of " + std::to_string(operands.width) +
                                "; multiples of 8 are possible");
  if (has_groups(operands.packing) && operands.width % packed_half != 0)
    throw std::invalid_argument("embed: a width of " + std::to_string(operands.width) +
                                "; multiples of 32 are possible where codes have groups");
  if ((operands.type != number::f16 && operands.type != number::bf16) ||
      (operands.out_type != number::f32 && operands.out_type != operands.type))
    throw std::invalid_argument("embed: unsupported combination of types");
}

}  // namespace

void embed(const embed_operands& operands, cudaStream_t stream) {
  check(operands);
  const int threads = std::min(max_threads, (operands.width / 8 + 31) / 32 * 32);
  const auto begin = [&](auto kernel) {
    launch("embed", kernel, dim3(static_cast<unsigned>(operands.rows)), threads, stream, operands);
  };
  const bool widens = operands.out_type == number::f32;
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    if (operands.packing == weight_packing::whole) return begin(widens ? embed_kernel<T, float> : embed_kernel<T, T>);
    with_packed_weights<T>(operands.packing, [&](auto weights) {
      using packed = decltype(weights);
      begin(widens ? embed_packed_kernel<packed, float> : embed_packed_kernel<packed, T>);
    });
  });
}

}  // namespace cogen::kernels::cuda
