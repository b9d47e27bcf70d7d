#include "network/kernels/device_numbers.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/quantize_cuda.hpp"
#include "network/kernels/quantized_layout.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 128;
constexpr int block_tokens = 64;
constexpr int max_dims = 256;
constexpr float largest_half = 65504.0F;

struct range {
  float least = INFINITY;
  float most = -INFINITY;

  __device__ void add(float x) {
    least = fminf(least, x);
    most = fmaxf(most, x);
  }
};

struct scale_of_group {
  float scale;
  float minimum;
};

__device__ float as_half(float x) { return __half2float(__float2half_rn(x)); }

__device__ float clamped(float x) { return fminf(fmaxf(x, -largest_half), largest_half); }

__device__ scale_of_group scale_for(const range& bounds, int bits) {
  if (!(bounds.least <= bounds.most)) return {0.0F, 0.0F};
  const float low = as_half(clamped(bounds.least));
  const float step = fmaxf(0.0F, clamped(bounds.most) - low) / static_cast<float>((1 << bits) - 1);
  return {as_half(fminf(step, largest_half)), low};
}

__device__ std::uint32_t code_of(float value, const scale_of_group& scale, int bits) {
  if (!(scale.scale > 0.0F) || isnan(value)) return 0;
  const float code = rintf((value - scale.minimum) / scale.scale);
  return static_cast<std::uint32_t>(fminf(fmaxf(code, 0.0F), static_cast<float>((1 << bits) - 1)));
}

// One head's keys, or values, of one block, by one thread block.
template <class T>
struct plane_job {
  const T* tokens;  // [64, dims], in shared memory
  scale_of_group* scales;
  int dims;
  quantized_format format;
  bool values;
  std::byte* target;

  __device__ float number(int token, int dim) const { return static_cast<float>(tokens[token * dims + dim]); }

  // By channel [64 / group, dims]; by token [64, dims / 32].
  __device__ int scale_index(int token, int dim) const {
    return format.by_channel ? token / format.group * dims + dim : token * (dims / 32) + dim / 32;
  }

  __device__ void find_scales() const {
    const int count = scale_bytes(format, dims) / 4;
    for (int index = static_cast<int>(threadIdx.x); index < count; index += threads)
      format.by_channel ? find_channel_scale(index) : find_token_scale(index);
  }

  __device__ void find_channel_scale(int index) const {
    const int group = index / dims, dim = index % dims;
    range bounds;
    for (int token = group * format.group; token < (group + 1) * format.group; ++token) bounds.add(number(token, dim));
    const scale_of_group scale = scales[index] = scale_for(bounds, format.bits);
    std::byte* place = target + channel_scale_at(dims, group, dim);
    *reinterpret_cast<__half*>(place) = __float2half_rn(scale.scale);
    *reinterpret_cast<__half*>(place + 8) = __float2half_rn(scale.minimum);
  }

  __device__ void find_token_scale(int index) const {
    const int token = index / (dims / 32), chunk = index % (dims / 32);
    const int first = chunk * 32 / format.group * format.group;
    range bounds;
    for (int dim = first; dim < min(first + format.group, dims); ++dim) bounds.add(number(token, dim));
    const scale_of_group scale = scales[index] = scale_for(bounds, format.bits);
    *reinterpret_cast<std::uint32_t*>(target + token_scale_at(dims, token, chunk * 32)) =
        word_of<f16>(scale.scale, scale.minimum);
  }

  __device__ void write_codes() const {
    const int words = code_words(dims, format.bits), at_once = words_at_once(words);
    auto* codes = reinterpret_cast<std::uint32_t*>(target + scale_bytes(format, dims));
    for (int index = static_cast<int>(threadIdx.x); index < 4 * 32 * words; index += threads) {
      const int tile = index / (32 * words), load = index % (32 * words) / (32 * at_once);
      codes[index] = word(tile, index / at_once % 32, load * at_once + index % at_once);
    }
  }

  __device__ std::uint32_t word(int tile, int lane, int index) const {
    const int pairs = pairs_in_word(format.bits);
    std::uint32_t codes = 0;
    for (int pair = 0; pair < pairs; ++pair)
      for (int side = 0; side < 2; ++side) {
        const code_place place = values ? value_of_pair(tile, lane, index * pairs + pair, side)
                                        : key_of_pair(tile, lane, index * pairs + pair, side);
        const std::uint32_t code =
            code_of(number(place.token, place.dim), scales[scale_index(place.token, place.dim)], format.bits);
        codes |= code << code_shift(format.bits, pair, side);
      }
    return codes;
  }
};

// blockIdx.x: the token; y: the key head; z: 0 for keys, 1 for values.
template <class T>
__global__ void __launch_bounds__(threads) quantize_kernel(const __grid_constant__ kv_layer layer, new_tokens step) {
  __shared__ uint4 tokens[block_tokens * max_dims / 8];
  __shared__ scale_of_group scales[2 * max_dims];
  const int slot = step.slots[blockIdx.x];
  if (slot < 0) return;
  const int unquantized = step.positions[blockIdx.x] + 1 - layer.quantized.residual;
  if (unquantized <= 0 || unquantized % block_tokens != 0) return;
  const int block = unquantized / block_tokens - 1, kv_head = static_cast<int>(blockIdx.y);
  const bool values = blockIdx.z == 1;

  const int dims = layer.head_dim, parts = dims / 8;
  const std::int64_t first = std::int64_t{block} * block_tokens % layer.ring;
  const auto* rows = reinterpret_cast<const T*>((values ? layer.values : layer.keys) + slot * layer.slot_stride) +
                     (first * layer.kv_heads + kv_head) * dims;
  for (int index = static_cast<int>(threadIdx.x); index < block_tokens * parts; index += threads)
    tokens[index] =
        *reinterpret_cast<const uint4*>(rows + std::int64_t{index / parts} * layer.kv_heads * dims + index % parts * 8);
  __syncthreads();

  std::byte* head = quantized_head(layer, slot, block, kv_head);
  const plane_job<T> job{reinterpret_cast<const T*>(tokens),
                         scales,
                         dims,
                         values ? layer.quantized.values : layer.quantized.keys,
                         values,
                         values ? head + quantized_plane_bytes(layer.quantized.keys, dims) : head};
  job.find_scales();
  __syncthreads();
  job.write_codes();
}

bool usual_group(const quantized_format& format) { return format.group == 32 || format.group == 64; }

}  // namespace

bool supports_quantization(const kv_layer& layer) {
  const int dim = layer.head_dim;
  const quantized_format &keys = layer.quantized.keys, &values = layer.quantized.values;
  const bool by_token = !keys.by_channel && keys.bits == 8 && (values.bits == 8 || values.bits == 4);
  const bool by_channel = keys.by_channel && keys.bits == values.bits && (keys.bits == 4 || keys.bits == 2);
  return (dim == 64 || dim == 96 || dim == 128 || dim == 256) &&
         (layer.type == number::f16 || layer.type == number::bf16) && (by_token || by_channel) && !values.by_channel &&
         usual_group(keys) && usual_group(values) && layer.sinks == 0 && layer.ring > 0 &&
         layer.ring % block_tokens == 0 && layer.quantized.residual >= 0;
}

void quantize_due_blocks(const kv_layer& layer, const new_tokens& step, cudaStream_t stream) {
  if (!supports_quantization(layer)) throw std::invalid_argument("quantize_due_blocks: such a layer is not supported");
  with_half_type(layer.type, [&](auto type) {
    launch("quantize_due_blocks", quantize_kernel<decltype(type)>,
           dim3(static_cast<unsigned>(step.count), static_cast<unsigned>(layer.kv_heads), 2), threads, stream, layer,
           step);
  });
}

}  // namespace cogen::kernels::cuda
