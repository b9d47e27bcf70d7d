#pragma once

#include "network/kernels/matrix_instructions.cuh"

#include <climits>
#include <cstdint>
#include <type_traits>

// Attention of the query heads that share a key head, sixteen keys at a time: one warp, keys and values straight from
// global memory into the registers in which the matrix instructions want them.
//
// With g = lane / 4 and t = lane % 4, the instruction that multiplies queries [16 heads, 16 dims] with keys [16 dims, 8
// keys] needs a lane to load four dims of key g. Which four is free, as long as queries agree, so a lane takes
// neighboring ones. The one that multiplies probabilities [16 heads, 16 keys] with values [16 keys, 8 dims] wants four
// keys (2t, 2t + 1, 2t + 8, 2t + 9) of one dim; a lane takes neighboring dims of those keys and uses one in each of
// several products.
namespace cogen::kernels::cuda {

inline constexpr int tile_keys = 16;
inline constexpr float log2_e = 1.44269504F;

/// The positions [begin, end).
struct key_span {
  int begin;
  int end;

  __device__ bool has(int position) const { return position >= begin && position < end; }
};

/// How many numbers of `size` bytes a lane takes at once, if `lanes` lanes share `head_dim` evenly: 16 bytes at most.
constexpr int numbers_at_once(int head_dim, int lanes, int size) {
  int numbers = 16 / size;
  while (head_dim % (lanes * numbers) != 0) numbers /= 2;
  return numbers;
}

/// Keys and values of `D` dimensions stored as `Stored`, multiplied as T.
template <class T, class Stored, int D, int ValueNumbers = numbers_at_once(D, 8, sizeof(Stored))>
struct tile_form {
  using type = T;
  static constexpr int size = sizeof(Stored);
  static constexpr int key_numbers = numbers_at_once(D, 4, size);
  static constexpr int value_numbers = ValueNumbers;
  static constexpr int key_words = key_numbers * size / 4;
  static constexpr int value_words = value_numbers * size / 4;
  static constexpr int key_parts = D / (4 * key_numbers);
  static constexpr int value_parts = D / (8 * value_numbers);
  static constexpr int steps = D / 16;                // products along the dims of a key
  static constexpr int part_steps = key_numbers / 4;  // of those, in one part

  /// The first of the four dims that a lane's queries and keys have in a step.
  static __device__ int key_dim(int step, int lane) {
    return step / part_steps * 4 * key_numbers + lane % 4 * key_numbers + step % part_steps * 4;
  }
  /// The dim of column `column` (of 8) of product `product` (of D / 8) with the values.
  static __device__ int value_dim(int product, int column) {
    return product / value_numbers * 8 * value_numbers + column * value_numbers + product % value_numbers;
  }
};

/// Where one head of a slot lies.
struct head_rows {
  const std::byte* keys;
  const std::byte* values;
  int row_bytes;  // between tokens
  int sinks;
  int ring;  // INT_MAX: none
};

/// The indices of sixteen neighboring positions: one division for all.
class tile_places {
 public:
  __device__ tile_places(const head_rows& rows, int tile)
      : sinks_(rows.sinks), ring_(rows.ring), first_(tile * tile_keys - rows.sinks) {
    if (first_ >= ring_) first_ %= ring_;
  }

  __device__ int index(int key) const {
    const int behind = first_ + key;  // below 0 among the sinks
    return sinks_ + (behind >= ring_ ? behind - ring_ : behind);
  }

 private:
  int sinks_;
  int ring_;
  int first_;
};

template <class Form>
struct key_tile {
  words<Form::key_words> part[2][Form::key_parts];  // of keys g and g + 8
};

template <class Form>
struct value_tile {
  words<Form::value_words> part[4][Form::value_parts];  // of keys 2t, 2t + 1, 2t + 8 and 2t + 9
};

/// Positions outside the span are not read, and count as zeros.
template <class Form>
__device__ inline void load_keys(const head_rows& rows, const key_span& span, int tile, int lane,
                                 key_tile<Form>& keys) {
  const tile_places places(rows, tile);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int key = lane / 4 + 8 * half;
    const bool seen = span.has(tile * tile_keys + key);
    const std::byte* source =
        rows.keys + std::int64_t{places.index(key)} * rows.row_bytes + lane % 4 * Form::key_words * 4;
#pragma unroll
    for (int part = 0; part < Form::key_parts; ++part)
      keys.part[half][part] = load_streamed<Form::key_words>(source + part * 4 * Form::key_words * 4, seen);
  }
}

template <class Form>
__device__ inline void load_values(const head_rows& rows, const key_span& span, int tile, int lane,
                                   value_tile<Form>& values) {
  const tile_places places(rows, tile);
#pragma unroll
  for (int index = 0; index < 4; ++index) {
    const int key = lane % 4 * 2 + index % 2 + index / 2 * 8;
    const bool seen = span.has(tile * tile_keys + key);
    const std::byte* source =
        rows.values + std::int64_t{places.index(key)} * rows.row_bytes + lane / 4 * Form::value_words * 4;
#pragma unroll
    for (int part = 0; part < Form::value_parts; ++part)
      values.part[index][part] = load_streamed<Form::value_words>(source + part * 8 * Form::value_words * 4, seen);
  }
}

/// Queries of up to 16 heads in the order in which the products take them: [step][lane]. Where there are only 8, the
/// words of the others are 0.
using query_words = words<4>;

/// The scores [heads, 16 keys] of a tile: two products' results beside each other.
using tile_scores = float[2][4];

template <class Form>
__device__ inline void multiply_keys(const query_words* queries, const key_tile<Form>& keys, int lane,
                                     tile_scores& scores) {
  using T = typename Form::type;
#pragma unroll
  for (int step = 0; step < Form::steps; ++step) {
    const query_words query = queries[step * 32 + lane];
    const int part = step / Form::part_steps, within = step % Form::part_steps;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto& key = keys.part[half][part];
      if constexpr (Form::size == 1) {
        const std::uint32_t four = key.values[within];
        multiply_add<T>(scores[half], query, f16_word_of_fp8(four & 0xffff), f16_word_of_fp8(four >> 16));
      } else {
        multiply_add<T>(scores[half], query, key.values[2 * within], key.values[2 * within + 1]);
      }
    }
  }
}

/// What a warp has gathered of its heads: sums of values weighted by exp2(score - most), and the weights' own sum,
/// which is spread over four lanes. Rows g and g + 8, as in the products' results.
template <int D, int Rows>
struct gathered {
  static constexpr int halves = Rows / 8;
  float values[D / 8][4] = {};
  float most[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0F, 0.0F};
};

/// Turns scores into weights (Milakov and Gimelshein, arXiv:1805.02867), as the left operand of the product with the
/// values.
template <class T, int D, int Rows>
__device__ inline words<4> weigh(tile_scores& scores, const key_span& span, int first, int lane, float scale,
                                 gathered<D, Rows>& state) {
  words<4> weights{};
#pragma unroll
  for (int row = 0; row < gathered<D, Rows>::halves; ++row) {
    float most = state.most[row];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[i / 2][2 * row + i % 2];
      score = span.has(first + i / 2 * 8 + lane % 4 * 2 + i % 2) ? score * scale : -INFINITY;
      most = fmaxf(most, score);
    }
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
    const float level = most == -INFINITY ? 0.0F : most;
    const float kept = power_of_two(state.most[row] - level);
    state.most[row] = most;
    float weight[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) weight[i] = power_of_two(scores[i / 2][2 * row + i % 2] - level);
    state.sum[row] = state.sum[row] * kept + ((weight[0] + weight[1]) + (weight[2] + weight[3]));
    if (__any_sync(0xffffffff, kept != 1.0F)) {
#pragma unroll
      for (auto& value : state.values) {
        value[2 * row] *= kept;
        value[2 * row + 1] *= kept;
      }
    }
    weights.values[row] = word_of<T>(weight[0], weight[1]);
    weights.values[row + 2] = word_of<T>(weight[2], weight[3]);
  }
  return weights;
}

template <class Form, int D>
__device__ inline void multiply_values(const words<4>& weights, const value_tile<Form>& values,
                                       float (&sums)[D / 8][4]) {
  using T = typename Form::type;
#pragma unroll
  for (int part = 0; part < Form::value_parts; ++part)
#pragma unroll
    for (int word = 0; word < Form::value_words; ++word) {
      const auto key_word = [&](int key) { return values.part[key][part].values[word]; };
      auto* product = sums + part * Form::value_numbers + word * (4 / Form::size);
      if constexpr (Form::size == 1) {
        // Bytes of two keys beside each other, dim by dim.
        const std::uint32_t low[2] = {__byte_perm(key_word(0), key_word(1), 0x5140),
                                      __byte_perm(key_word(2), key_word(3), 0x5140)};
        const std::uint32_t high[2] = {__byte_perm(key_word(0), key_word(1), 0x7362),
                                       __byte_perm(key_word(2), key_word(3), 0x7362)};
        multiply_add<T>(product[0], weights, f16_word_of_fp8(low[0] & 0xffff), f16_word_of_fp8(low[1] & 0xffff));
        multiply_add<T>(product[1], weights, f16_word_of_fp8(low[0] >> 16), f16_word_of_fp8(low[1] >> 16));
        multiply_add<T>(product[2], weights, f16_word_of_fp8(high[0] & 0xffff), f16_word_of_fp8(high[1] & 0xffff));
        multiply_add<T>(product[3], weights, f16_word_of_fp8(high[0] >> 16), f16_word_of_fp8(high[1] >> 16));
      } else {
        multiply_add<T>(product[0], weights, __byte_perm(key_word(0), key_word(1), 0x5410),
                        __byte_perm(key_word(2), key_word(3), 0x5410));
        multiply_add<T>(product[1], weights, __byte_perm(key_word(0), key_word(1), 0x7632),
                        __byte_perm(key_word(2), key_word(3), 0x7632));
      }
    }
}

/// Every `Warps`th tile of the span, from this warp's on. Where the registers allow, the next tile's keys are on their
/// way while this one's values are waited for, and the other way round.
template <class Form, int D, int Rows, int Warps>
__device__ inline void attend(const head_rows& rows, const key_span& span, const query_words* queries, float scale,
                              gathered<D, Rows>& state) {
  constexpr bool ahead = D <= 128;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  if (span.begin >= span.end) return;
  const int tiles = (span.end + tile_keys - 1) / tile_keys;
  int tile = span.begin / tile_keys + warp;
  if (tile >= tiles) return;
  key_tile<Form> keys;
  value_tile<Form> values;
  load_keys<Form>(rows, span, tile, lane, keys);
  if constexpr (ahead) load_values<Form>(rows, span, tile, lane, values);
  while (true) {
    const int next = tile + Warps;
    tile_scores scores = {};
    multiply_keys<Form>(queries, keys, lane, scores);
    if constexpr (ahead) {
      if (next < tiles) load_keys<Form>(rows, span, next, lane, keys);
    } else {
      load_values<Form>(rows, span, tile, lane, values);
    }
    const words<4> weights = weigh<typename Form::type>(scores, span, tile * tile_keys, lane, scale, state);
    multiply_values<Form, D>(weights, values, state.values);
    if (next >= tiles) return;
    if constexpr (ahead)
      load_values<Form>(rows, span, next, lane, values);
    else
      load_keys<Form>(rows, span, next, lane, keys);
    tile = next;
  }
}

}  // namespace cogen::kernels::cuda
