#include "kernels/device_numbers.cuh"
#include "kernels/gather_cuda.hpp"
#include "kernels/launch.cuh"
#include "kernels/token_index.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

// Eight numbers a thread; blockIdx.y is 0 for keys and 1 for values.
template <class T, class Stored>
__global__ void __launch_bounds__(threads) gather_kernel(kv_layer layer, gathered_positions positions) {
  const int parts = layer.kv_heads * layer.head_dim / 8;  // of a token
  const std::int64_t part = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const std::int64_t token = part / parts;
  if (token >= positions.count) return;
  const bool values = blockIdx.y == 1;
  const std::byte* rows = (values ? layer.values : layer.keys) + positions.slot * layer.slot_stride;
  const std::int64_t index = token_index(layer, positions.first + static_cast<int>(token));
  const std::int64_t from = index * parts + part % parts;
  T* to = static_cast<T*>(values ? positions.values : positions.keys);
  store_eight(to + part * 8, load_eight(reinterpret_cast<const Stored*>(rows) + from * 8));
}

}  // namespace

void gather_keys_values(const kv_layer& layer, const gathered_positions& positions, cudaStream_t stream) {
  const bool possible = positions.type == number::f16 || positions.type == number::bf16;
  if (!possible || (layer.type != positions.type && layer.type != number::fp8))
    throw std::invalid_argument("gather_keys_values: the types do not go together");
  if (layer.head_dim <= 0 || layer.head_dim % 8 != 0)
    throw std::invalid_argument("gather_keys_values: head_dim is not a multiple of 8");
  const std::int64_t parts = std::int64_t{positions.count} * layer.kv_heads * layer.head_dim / 8;
  const dim3 grid(static_cast<unsigned>((parts + threads - 1) / threads), 2);
  with_half_type(positions.type, [&](auto type) {
    using T = decltype(type);
    const auto kernel = layer.type == number::fp8 ? gather_kernel<T, fp8> : gather_kernel<T, T>;
    launch("gather_keys_values", kernel, grid, threads, stream, layer, positions);
  });
}

}  // namespace cogen::kernels::cuda
