#include "network/kernels/attention_split.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/quantized_layout.cuh"

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

// Which numbers share a scale, and in how many bits codes are.
template <int KeyBits, bool KeysByChannel, int ValueBits>
struct quantization {
  static constexpr int key_bits = KeyBits;
  static constexpr int value_bits = ValueBits;
  static constexpr bool keys_by_channel = KeysByChannel;
};

// What the newest tokens, in full precision, are read as: with neighboring 32 dims in four products with the values,
// as the quantized ones are.
template <class T, int D>
using newest_form = tile_form<T, T, D, 4>;

template <class Packing, int D>
struct quantized_form {
  using queries = newest_form<f16, D>;
  static_assert(queries::key_numbers == 8);
  static constexpr int steps = D / 16;
  static constexpr int chunks = D / 32;  // dims that share a scale, by token
  static constexpr int key_words = code_words(D, Packing::key_bits);
  static constexpr int value_words = code_words(D, Packing::value_bits);
  static constexpr int tiles =
      Packing::value_bits == 8 || D > 128 ? 1 : 2;  // of sixteen keys, that a warp takes at once
  static constexpr int keys = tiles * tile_keys;
};

// A code of four or two bits is put into the mantissa of an f16 whose last used bit counts 1: that much more than the
// code it is. The difference, times the scale, is taken off the minimum, which rounds that once more to f16: an error
// of 2^-12 of |minimum| + bias * scale, a hundredth of a code's step or less unless the group lies far from 0.
template <int Bits>
constexpr int bias_of_pair = Bits == 8   ? 0
                             : Bits == 4 ? 16
                                         : 4;
template <int Bits>
constexpr std::uint32_t minus_bias = Bits == 4 ? 0xCC00CC00 : 0xC400C400;  // -16, -4

// Codes of one pair as two f16.
template <int Bits>
__device__ std::uint32_t numbers_of_pair(std::uint32_t word, int pair) {
  if constexpr (Bits == 8) {
    const std::uint32_t above_1024 = __byte_perm(word, 0x64646464, pair == 0 ? 0x4140 : 0x4342);
    return subtract_f16(above_1024, 0x64006400);
  } else {
    constexpr int position = Bits == 4 ? 6 : 8;
    constexpr std::uint32_t mask = Bits == 4 ? 0x03C003C0 : 0x03000300, bias = Bits == 4 ? 0x4C004C00 : 0x44004400;
    const int left = position - Bits * pair;
    return and_or<mask, bias>(left >= 0 ? word << (left >= 0 ? left : 0) : word >> (left < 0 ? -left : 0));
  }
}

// What to add after the scale, so that the bias is gone.
template <int Bits>
__device__ std::uint32_t unbiased(std::uint32_t minimum, std::uint32_t scale) {
  if constexpr (bias_of_pair<Bits> == 0)
    return minimum;
  else
    return multiply_add_f16(scale, minus_bias<Bits>, minimum);
}

template <int Words>
__device__ void load_codes(const std::byte* tile, int lane, std::uint32_t (&codes)[Words]) {
  constexpr int at_once = words_at_once(Words);
#pragma unroll
  for (int load = 0; load < Words / at_once; ++load) {
    const auto x = load_streamed<at_once>(tile + (load * 32 + lane) * at_once * 4, true);
#pragma unroll
    for (int i = 0; i < at_once; ++i) codes[load * at_once + i] = x.values[i];
  }
}

// Scales and minimums of one token, for every 32 dims.
template <int Chunks>
__device__ void load_token_scales(const std::byte* source, std::uint32_t (&scales)[Chunks]) {
  constexpr int at_once = words_at_once(Chunks);
#pragma unroll
  for (int first = 0; first < Chunks; first += at_once) {
    const auto x = *reinterpret_cast<const words<at_once>*>(source + first * 4);
#pragma unroll
    for (int i = 0; i < at_once; ++i) scales[first + i] = x.values[i];
  }
}

template <class Packing, int D>
struct quantized_keys {
  using form = quantized_form<Packing, D>;
  std::uint32_t codes[form::tiles][form::key_words];
  words<4> by_channel[Packing::keys_by_channel ? form::steps : 1];
  std::uint32_t by_token[form::tiles][2][form::chunks];  // of keys g and g + 8
};

template <class Packing, int D>
struct quantized_values {
  using form = quantized_form<Packing, D>;
  std::uint32_t codes[form::tiles][form::value_words];
  std::uint32_t by_token[form::tiles][4][form::chunks];  // of keys 2t, 2t + 1, 2t + 8 and 2t + 9
};

// A slot's quantized blocks, as one key head reads them.
struct quantized_rows {
  const std::byte* head;  // of block 0
  std::int64_t block_bytes;
  int ring;  // INT_MAX: none
  int key_bytes;
  int key_group;

  __device__ const std::byte* block_of(int position) const {
    const int number = position / block_tokens;
    return head + (number >= ring ? number % ring : number) * block_bytes;
  }
};

template <class Packing, int D>
__device__ void load_quantized_keys(const quantized_rows& rows, int position, int lane,
                                    quantized_keys<Packing, D>& keys) {
  using form = quantized_form<Packing, D>;
  const std::byte* plane = rows.block_of(position);
  const int token = position % block_tokens;
  const int scales = Packing::keys_by_channel ? block_tokens / rows.key_group * D * 4 : block_tokens * form::chunks * 4;
#pragma unroll
  for (int tile = 0; tile < form::tiles; ++tile)
    load_codes(plane + scales + (token / tile_keys + tile) * 128 * form::key_words, lane, keys.codes[tile]);
  if constexpr (Packing::keys_by_channel) {
    const std::byte* group = plane + token / rows.key_group * D * 4 + lane % 4 * 16;
#pragma unroll
    for (int step = 0; step < form::steps; ++step)
      keys.by_channel[step] = *reinterpret_cast<const words<4>*>(group + step * 64);
  } else {
#pragma unroll
    for (int tile = 0; tile < form::tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        load_token_scales(plane + (token + tile * tile_keys + half * 8 + lane / 4) * form::chunks * 4,
                          keys.by_token[tile][half]);
  }
}

template <class Packing, int D>
__device__ void load_quantized_values(const quantized_rows& rows, int position, int lane,
                                      quantized_values<Packing, D>& values) {
  using form = quantized_form<Packing, D>;
  const std::byte* plane = rows.block_of(position) + rows.key_bytes;
  const int token = position % block_tokens;
#pragma unroll
  for (int tile = 0; tile < form::tiles; ++tile) {
    load_codes(plane + block_tokens * form::chunks * 4 + (token / tile_keys + tile) * 128 * form::value_words, lane,
               values.codes[tile]);
#pragma unroll
    for (int index = 0; index < 4; ++index)
      load_token_scales(
          plane + (token + tile * tile_keys + lane % 4 * 2 + index % 2 + index / 2 * 8) * form::chunks * 4,
          values.by_token[tile][index]);
  }
}

template <class Packing, int D>
__device__ void multiply_quantized_keys(const query_words* queries, const quantized_keys<Packing, D>& keys, int lane,
                                        tile_scores (&scores)[quantized_form<Packing, D>::tiles]) {
  using form = quantized_form<Packing, D>;
  constexpr int bits = Packing::key_bits, pairs = pairs_in_word(bits);
#pragma unroll
  for (int step = 0; step < form::steps; ++step) {
    const query_words query = queries[step * 32 + lane];
    std::uint32_t scale[2], minimum[2];
    if constexpr (Packing::keys_by_channel) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scale[i] = keys.by_channel[step].values[i];
        minimum[i] = unbiased<bits>(keys.by_channel[step].values[2 + i], scale[i]);
      }
    }
#pragma unroll
    for (int tile = 0; tile < form::tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if constexpr (!Packing::keys_by_channel) {
          const std::uint32_t both = keys.by_token[tile][half][step / 2];
          scale[0] = scale[1] = __byte_perm(both, both, 0x1010);
          minimum[0] = minimum[1] = unbiased<bits>(__byte_perm(both, both, 0x3232), scale[0]);
        }
        std::uint32_t operand[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int pair = (step * 2 + half) * 2 + i;
          operand[i] = multiply_add_f16(numbers_of_pair<bits>(keys.codes[tile][pair / pairs], pair % pairs), scale[i],
                                        minimum[i]);
        }
        multiply_add<f16>(scores[tile][half], query, operand[0], operand[1]);
      }
  }
}

template <class Packing, int D>
__device__ void multiply_quantized_values(const words<4>& weights, const quantized_values<Packing, D>& values, int tile,
                                          float (&sums)[D / 8][4]) {
  using form = quantized_form<Packing, D>;
  constexpr int bits = Packing::value_bits, pairs = pairs_in_word(bits);
#pragma unroll
  for (int chunk = 0; chunk < form::chunks; ++chunk) {
    std::uint32_t scale[2], minimum[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t first = values.by_token[tile][2 * i][chunk], second = values.by_token[tile][2 * i + 1][chunk];
      scale[i] = __byte_perm(first, second, 0x5410);
      minimum[i] = unbiased<bits>(__byte_perm(first, second, 0x7632), scale[i]);
    }
#pragma unroll
    for (int index = 0; index < 4; ++index) {
      const int product = chunk * 4 + index;
      std::uint32_t operand[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int pair = product * 2 + i;
        operand[i] = multiply_add_f16(numbers_of_pair<bits>(values.codes[tile][pair / pairs], pair % pairs), scale[i],
                                      minimum[i]);
      }
      multiply_add<f16>(sums[product], weights, operand[0], operand[1]);
    }
  }
}

// attend() for quantized keys and values; all of the blocks that the span touches are there.
template <class Packing, int D, int Rows, int Warps>
__device__ void attend_quantized(const quantized_rows& rows, const key_span& span, const query_words* queries,
                                 float scale, gathered<D, Rows>& state) {
  using form = quantized_form<Packing, D>;
  constexpr bool ahead = D <= 128;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int first = (span.begin / form::keys + warp) * form::keys;
  if (span.begin >= span.end || first >= span.end) return;
  quantized_keys<Packing, D> keys;
  quantized_values<Packing, D> values;
  load_quantized_keys(rows, first, lane, keys);
  if constexpr (ahead) load_quantized_values(rows, first, lane, values);
  while (true) {
    const int next = first + Warps * form::keys;
    tile_scores scores[form::tiles] = {};
    multiply_quantized_keys<Packing, D>(queries, keys, lane, scores);
    if constexpr (ahead) {
      if (next < span.end) load_quantized_keys(rows, next, lane, keys);
    } else {
      load_quantized_values(rows, first, lane, values);
    }
#pragma unroll
    for (int tile = 0; tile < form::tiles; ++tile) {
      const words<4> weights = weigh<f16>(scores[tile], span, first + tile * tile_keys, lane, scale, state);
      multiply_quantized_values<Packing, D>(weights, values, tile, state.values);
    }
    if (next >= span.end) return;
    if constexpr (ahead)
      load_quantized_values(rows, next, lane, values);
    else
      load_quantized_keys(rows, next, lane, keys);
    first = next;
  }
}

__device__ quantized_rows quantized_rows_of(const decode_job& job, const split_place& place) {
  const kv_layer& layer = job.layer;
  const std::int64_t head = quantized_head_bytes(layer.quantized, layer.head_dim);
  return {layer.quantized.blocks + job.step.slots[place.row] * layer.quantized.slot_stride + place.kv_head * head,
          layer.kv_heads * head, layer.quantized.ring > 0 ? layer.quantized.ring : INT_MAX,
          static_cast<int>(quantized_plane_bytes(layer.quantized.keys, layer.head_dim)), layer.quantized.keys.group};
}

template <class T, class Packing, int D, int Rows>
__global__ void __launch_bounds__(block_shape<D, Rows>::threads, D <= 64 ? 3 : 2)
    quantized_attention_kernel(const __grid_constant__ decode_job job) {
  using newest = newest_form<T, D>;
  constexpr int warps = block_shape<D, Rows>::warps;
  __shared__ block_memory<D, Rows> memory;
  trigger_launch_completion();
  const split_place place(job);
  if (skip_padding<T>(job, place)) return;
  const int position = job.step.positions[place.row];
  const row_cut cut(job.layer, position, job.operands);
  if (place.split >= cut.splits) return;

  load_queries<T, newest, Rows>(queries_of<T>(job, place), place.heads, D, memory.queries[0]);
  load_queries<T, newest_form<f16, D>, Rows>(queries_of<T>(job, place), place.heads, D, memory.queries[1]);
  __syncthreads();

  const float scale = job.operands.scale * log2_e;
  const key_span span = cut.split(place.split);
  const int quantized = static_cast<int>(quantized_tokens(position + 1, job.layer.quantized.residual));
  gathered<D, Rows> state;
  attend_quantized<Packing, D, Rows, warps>(quantized_rows_of(job, place), {span.begin, min(span.end, quantized)},
                                            memory.queries[1], scale, state);
  attend<newest, D, Rows, warps>(rows_of(job, place, newest::size), {max(span.begin, quantized), span.end},
                                 memory.queries[0], scale, state);
  __syncthreads();
  publish<newest>(state, place.heads, memory);
  __syncthreads();
  finish<T>(job, place, cut.splits, memory);
}

template <class T, class Packing, int D>
void attend_quantized_splits(const decode_job& job, cudaStream_t stream) {
  const auto kernel =
      job.together <= 8 ? quantized_attention_kernel<T, Packing, D, 8> : quantized_attention_kernel<T, Packing, D, 16>;
  const int threads = job.together <= 8 ? block_shape<D, 8>::threads : block_shape<D, 16>::threads;
  launch("decode_attention over quantized tokens", kernel, grid_of(job), threads, stream, job);
}

template <class T, class Packing>
void attend_quantized_splits(const decode_job& job, cudaStream_t stream) {
  if (job.layer.head_dim == 64) return attend_quantized_splits<T, Packing, 64>(job, stream);
  if (job.layer.head_dim == 96) return attend_quantized_splits<T, Packing, 96>(job, stream);
  if (job.layer.head_dim == 128) return attend_quantized_splits<T, Packing, 128>(job, stream);
  attend_quantized_splits<T, Packing, 256>(job, stream);
}

}  // namespace

void attend_quantized_splits(const decode_job& job, cudaStream_t stream) {
  with_half_type(job.operands.type, [&](auto type) {
    using T = decltype(type);
    const int keys = job.layer.quantized.keys.bits, values = job.layer.quantized.values.bits;
    if (keys == 8 && values == 8) return attend_quantized_splits<T, quantization<8, false, 8>>(job, stream);
    if (keys == 8) return attend_quantized_splits<T, quantization<8, false, 4>>(job, stream);
    if (keys == 4) return attend_quantized_splits<T, quantization<4, true, 4>>(job, stream);
    attend_quantized_splits<T, quantization<2, true, 2>>(job, stream);
  });
}

}  // namespace cogen::kernels::cuda
