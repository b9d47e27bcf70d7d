#include "network/kernels/device_numbers.cuh"
#include "network/kernels/gather_cuda.hpp"
#include "network/kernels/launch.cuh"
#include "network/kernels/quantize_cuda.hpp"
#include "network/kernels/quantized_layout.cuh"
#include "network/kernels/token_index.cuh"

#include <algorithm>
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
  const std::int64_t source = index * parts + part % parts;
  T* target = static_cast<T*>(values ? positions.values : positions.keys);
  store_eight(target + part * 8, load_eight(reinterpret_cast<const Stored*>(rows) + source * 8));
}

// blockIdx.x: the block of 64 tokens, counted from that of the first position; y: the key head; z: 0 for keys, 1 for
// values. A thread takes words of codes.
template <class T>
__global__ void __launch_bounds__(threads)
    gather_quantized_kernel(const __grid_constant__ kv_layer layer, gathered_positions positions) {
  const int dims = layer.head_dim, kv_head = static_cast<int>(blockIdx.y);
  const int block = positions.first / 64 + static_cast<int>(blockIdx.x);
  const bool values = blockIdx.z == 1;
  const quantized_format format = values ? layer.quantized.values : layer.quantized.keys;
  const std::byte* plane = quantized_head(layer, positions.slot, block, kv_head) +
                           (values ? quantized_plane_bytes(layer.quantized.keys, dims) : 0);
  const auto* codes = reinterpret_cast<const std::uint32_t*>(plane + scale_bytes(format, dims));
  T* target = static_cast<T*>(values ? positions.values : positions.keys);

  const int words = code_words(dims, format.bits), at_once = words_at_once(words), pairs = pairs_in_word(format.bits);
  for (int index = static_cast<int>(threadIdx.x); index < 4 * 32 * words; index += threads) {
    const int tile = index / (32 * words), load = index % (32 * words) / (32 * at_once);
    const int lane = index / at_once % 32, word = load * at_once + index % at_once;
    for (int i = 0; i < 2 * pairs; ++i) {
      const int pair = word * pairs + i / 2;
      const code_place place = values ? value_of_pair(tile, lane, pair, i % 2) : key_of_pair(tile, lane, pair, i % 2);
      const std::int64_t token = std::int64_t{block} * 64 + place.token - positions.first;
      if (token < 0 || token >= positions.count) continue;
      const std::uint32_t code = codes[index] >> code_shift(format.bits, i / 2, i % 2) & ((1U << format.bits) - 1);
      const std::byte* scale =
          plane + (format.by_channel ? channel_scale_at(dims, place.token / format.group, place.dim)
                                     : token_scale_at(dims, place.token, place.dim));
      const float factor = __half2float(*reinterpret_cast<const __half*>(scale));
      const float minimum = __half2float(*reinterpret_cast<const __half*>(scale + (format.by_channel ? 8 : 2)));
      target[(token * layer.kv_heads + kv_head) * dims + place.dim] =
          T(fmaf(static_cast<float>(code), factor, minimum));
    }
  }
}

template <class T>
void gather_quantized(const kv_layer& layer, const gathered_positions& positions, cudaStream_t stream) {
  const int blocks = (positions.first + positions.count - 1) / 64 - positions.first / 64 + 1;
  launch("gather_keys_values of quantized tokens", gather_quantized_kernel<T>,
         dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(layer.kv_heads), 2), threads, stream, layer,
         positions);
}

template <class T>
void gather_rows(const kv_layer& layer, const gathered_positions& positions, cudaStream_t stream) {
  const std::int64_t parts = std::int64_t{positions.count} * layer.kv_heads * layer.head_dim / 8;
  const auto kernel = layer.type == number::fp8 ? gather_kernel<T, fp8> : gather_kernel<T, T>;
  launch("gather_keys_values", kernel, dim3(static_cast<unsigned>((parts + threads - 1) / threads), 2), threads, stream,
         layer, positions);
}

// The positions from number `skipped` on.
gathered_positions without_first(gathered_positions positions, const kv_layer& layer, int skipped) {
  const std::ptrdiff_t bytes = std::ptrdiff_t{skipped} * layer.kv_heads * layer.head_dim * bytes_of(positions.type);
  positions.first += skipped;
  positions.count -= skipped;
  positions.keys = static_cast<std::byte*>(positions.keys) + bytes;
  positions.values = static_cast<std::byte*>(positions.values) + bytes;
  return positions;
}

void check(const kv_layer& layer, const gathered_positions& positions) {
  const auto refuse = [](const char* why) { throw std::invalid_argument(std::string("gather_keys_values: ") + why); };
  const bool possible = positions.type == number::f16 || positions.type == number::bf16;
  if (!possible || (layer.type != positions.type && layer.type != number::fp8))
    refuse("unsupported combination of types");
  if (layer.head_dim <= 0 || layer.head_dim % 8 != 0) refuse("head_dim is not a multiple of 8");
  if (positions.quantized % 64 != 0) refuse("a part of a block cannot be read quantized");
  if (positions.quantized > 0 && !supports_quantization(layer)) refuse("such a layer cannot be quantized");
}

}  // namespace

void gather_keys_values(const kv_layer& layer, const gathered_positions& positions, cudaStream_t stream) {
  check(layer, positions);
  const int quantized = std::clamp(positions.quantized - positions.first, 0, positions.count);
  with_half_type(positions.type, [&](auto type) {
    using T = decltype(type);
    gathered_positions from_blocks = positions;
    from_blocks.count = quantized;
    if (quantized > 0) gather_quantized<T>(layer, from_blocks, stream);
    if (quantized < positions.count) gather_rows<T>(layer, without_first(positions, layer, quantized), stream);
  });
}

}  // namespace cogen::kernels::cuda
