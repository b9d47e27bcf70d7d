#pragma once

#include "network/kernels/attention_cuda.hpp"
#include "network/kernels/attention_tile.cuh"

#include <cmath>
#include <cstdint>

// What every kernel of decode attention shares: one thread block reads one part (a split) of one row's keys, for up to
// 16 query heads of one key head.
namespace cogen::kernels::cuda {

inline constexpr int block_tokens = 64;

/// The parameters of a launch.
struct decode_job {
  kv_layer layer;
  new_tokens step;
  decode_operands operands;
  int group;     // query heads of a key head
  int together;  // of those, in one thread block
  int passes;    // thread blocks to a key head
};

/// decode_attention() over a layer with quantized tokens.
void attend_quantized_splits(const decode_job& job, cudaStream_t stream);

/// A split's partial result of one head: sums [head_dim] of values, and this.
struct partial {
  float most;
  float sum;
};

struct partials {
  float* sums;      // [rows, heads, splits, head_dim]
  partial* totals;  // [rows, heads, splits]

  __device__ explicit partials(const decode_job& job)
      : sums(static_cast<float*>(job.operands.workspace)),
        totals(reinterpret_cast<partial*>(sums + std::int64_t{job.step.count} * job.operands.heads *
                                                     job.operands.splits * job.layer.head_dim)) {}

  static __device__ std::int64_t index(const decode_job& job, int row, int head, int split) {
    return (std::int64_t{row} * job.operands.heads + head) * job.operands.splits + split;
  }
};

__device__ inline float share_of(const partial& total, float most) {
  return total.most == -INFINITY ? 0.0F : power_of_two(total.most - most);
}

/// How a row's keys are cut, by its position alone.
struct row_cut {
  key_span sinks;  // seen by the queries for sinks
  key_span rest;
  int first_block;
  int blocks;  // of a split
  int splits;  // that have something to do

  __device__ row_cut(const kv_layer& layer, int position, const decode_operands& operands) {
    const int first = layer.window > 0 && position >= layer.window ? position + 1 - layer.window : 0;
    sinks = {0, min(layer.sinks, position + 1)};
    rest = {max(first, layer.sinks), position + 1};
    first_block = rest.begin / block_tokens;
    const int count = max(0, (rest.end + block_tokens - 1) / block_tokens - first_block);
    blocks = max(operands.min_blocks, (count + operands.splits - 1) / operands.splits);
    splits = max(1, (count + blocks - 1) / blocks);
  }

  __device__ key_span split(int number) const {
    const int begin = (first_block + number * blocks) * block_tokens;
    return {max(rest.begin, begin), min(rest.end, begin + blocks * block_tokens)};
  }
};

/// What this thread block is to do.
struct split_place {
  int row;
  int split;
  int kv_head;
  int first_head;
  int heads;

  __device__ explicit split_place(const decode_job& job)
      : row(static_cast<int>(blockIdx.z)),
        split(static_cast<int>(blockIdx.y)),
        kv_head(static_cast<int>(blockIdx.x) / job.passes) {
    const int pass = static_cast<int>(blockIdx.x) % job.passes;
    first_head = kv_head * job.group + pass * job.together;
    heads = min(job.together, job.group - pass * job.together);
  }
};

template <class T>
__device__ inline T* out_of(const decode_job& job, const split_place& place) {
  return static_cast<T*>(job.operands.out) +
         (std::int64_t{place.row} * job.operands.heads + place.first_head) * job.layer.head_dim;
}

template <class T>
__device__ inline const T* queries_of(const decode_job& job, const split_place& place) {
  return static_cast<const T*>(job.operands.q) + place.row * job.operands.q_stride +
         place.first_head * job.layer.head_dim;
}

/// A padding row has no keys: its result is written here.
template <class T>
__device__ inline bool skip_padding(const decode_job& job, const split_place& place) {
  if (job.step.slots[place.row] >= 0) return false;
  T* out = out_of<T>(job, place);
  if (place.split == 0)
    for (int index = static_cast<int>(threadIdx.x) * 8; index < place.heads * job.layer.head_dim;
         index += static_cast<int>(blockDim.x) * 8)
      store_eight(out + index, eight{});
  return true;
}

__device__ inline head_rows rows_of(const decode_job& job, const split_place& place, int size) {
  const kv_layer& layer = job.layer;
  const std::int64_t offset =
      job.step.slots[place.row] * layer.slot_stride + std::int64_t{place.kv_head} * layer.head_dim * size;
  return {layer.keys + offset, layer.values + offset, layer.kv_heads * layer.head_dim * size, layer.sinks,
          layer.ring > 0 ? layer.ring : INT_MAX};
}

template <int D, int Rows>
struct block_shape {
  static constexpr int warps = D * Rows > 2048 ? 2 : 4;
  static constexpr int threads = warps * 32;
};

/// Queries while keys are read; afterwards each warp's results, to be merged.
template <int D, int Rows>
union block_memory {
  query_words queries[2][D / 16 * 32];  // two forms of them
  struct {
    float sums[block_shape<D, Rows>::warps][Rows][D + 4];
    partial totals[block_shape<D, Rows>::warps][Rows];
  } results;
};

/// Queries [heads, D], in the order in which products with `Form` take them.
template <class T, class Form, int Rows>
__device__ inline void load_queries(const T* source, int heads, int head_dim, query_words* target) {
  for (int index = static_cast<int>(threadIdx.x); index < Form::steps * 32; index += static_cast<int>(blockDim.x)) {
    const int lane = index % 32, dim = Form::key_dim(index / 32, lane);
    query_words query{};
#pragma unroll
    for (int half = 0; half < Rows / 8; ++half) {
      const int head = lane / 4 + 8 * half;
      if (head >= heads) continue;
      const auto four = *reinterpret_cast<const words<2>*>(source + head * head_dim + dim);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const float2 x = widen_word<T>(four.values[pair]);
        query.values[pair * 2 + half] = word_of<typename Form::type>(x.x, x.y);
      }
    }
    target[index] = query;
  }
}

/// Writes what this warp has gathered to the block's memory.
template <class Form, int D, int Rows>
__device__ inline void publish(gathered<D, Rows>& state, int heads, block_memory<D, Rows>& memory) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int half = 0; half < Rows / 8; ++half) {
    float sum = state.sum[half];
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    sum += __shfl_xor_sync(0xffffffff, sum, 2);
    const int head = lane / 4 + 8 * half;
    if (head >= heads) continue;
    if (lane % 4 == 0) memory.results.totals[warp][head] = {state.most[half], sum};
#pragma unroll
    for (int product = 0; product < D / 8; ++product)
#pragma unroll
      for (int side = 0; side < 2; ++side)
        memory.results.sums[warp][head][Form::value_dim(product, lane % 4 * 2 + side)] =
            state.values[product][2 * half + side];
  }
}

/// Merges what the warps have published, in their order: into the output where there is one split, else into this
/// split's partial result.
template <class T, int D, int Rows>
__device__ inline void merge_warps(const decode_job& job, const split_place& place, int splits,
                                   const block_memory<D, Rows>& memory) {
  constexpr int warps = block_shape<D, Rows>::warps;
  T* out = out_of<T>(job, place);
  const partials output(job);
  for (int i = static_cast<int>(threadIdx.x); i < place.heads * D; i += block_shape<D, Rows>::threads) {
    const int head = i / D, dim = i % D;
    float most = -INFINITY, sum = 0.0F, value = 0.0F;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp) most = fmaxf(most, memory.results.totals[warp][head].most);
#pragma unroll
    for (int warp = 0; warp < warps; ++warp) {
      const partial total = memory.results.totals[warp][head];
      const float share = share_of(total, most);
      sum = fmaf(total.sum, share, sum);
      value = fmaf(memory.results.sums[warp][head][dim], share, value);
    }
    if (splits == 1) {
      out[i] = T(value / sum);
    } else {
      const std::int64_t index = partials::index(job, place.row, place.first_head + head, place.split);
      output.sums[index * D + dim] = value;
      if (dim == 0) output.totals[index] = {most, sum};
    }
  }
}

/// Whether all other splits of the row and of these heads have written their partial results, which can then be read.
/// The counter is 0 again afterwards. (CUDA C++ Programming Guide, "Memory Fence Functions".)
__device__ inline bool ends_last(const decode_job& job, int row, int splits) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int32_t& ended = job.operands.counters[row * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)];
    last = atomicAdd(&ended, 1) == splits - 1;
    if (last) ended = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

/// Merges the splits of the row, in their order, into the output: one warp a head.
template <class T, int D, int Rows>
__device__ inline void merge_splits(const decode_job& job, const split_place& place, int splits) {
  constexpr int parts = (D + 127) / 128;  // a lane takes four neighboring dims of each
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const partials input(job);
  for (int head = warp; head < place.heads; head += block_shape<D, Rows>::warps) {
    const std::int64_t index = partials::index(job, place.row, place.first_head + head, 0);
    const auto total_of = [&](int split) {
      const float2 total = __ldcg(reinterpret_cast<const float2*>(input.totals + index + split));
      return partial{total.x, total.y};
    };
    float most = -INFINITY;
    for (int split = lane; split < splits; split += 32) most = fmaxf(most, total_of(split).most);
    for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, lanes));

    float4 sums[parts] = {};
    float weight = 0.0F;
#pragma unroll 4
    for (int split = 0; split < splits; ++split) {
      const partial total = total_of(split);
      const float share = share_of(total, most);
      weight = fmaf(total.sum, share, weight);
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        const int dim = (part * 32 + lane) * 4;
        if (dim >= D) continue;
        const float4 value = __ldcg(reinterpret_cast<const float4*>(input.sums + (index + split) * D + dim));
        sums[part].x = fmaf(value.x, share, sums[part].x);
        sums[part].y = fmaf(value.y, share, sums[part].y);
        sums[part].z = fmaf(value.z, share, sums[part].z);
        sums[part].w = fmaf(value.w, share, sums[part].w);
      }
    }
    T* const out = out_of<T>(job, place) + head * D;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const int dim = (part * 32 + lane) * 4;
      if (dim >= D) continue;
      const float4 sum = sums[part];
      *reinterpret_cast<words<2>*>(out + dim) = {
          {word_of<T>(sum.x / weight, sum.y / weight), word_of<T>(sum.z / weight, sum.w / weight)}};
    }
  }
}

/// Puts together what the warps have published, and where this block ends last of its row's, the splits.
template <class T, int D, int Rows>
__device__ inline void finish(const decode_job& job, const split_place& place, int splits,
                              const block_memory<D, Rows>& memory) {
  merge_warps<T>(job, place, splits, memory);
  if (splits > 1 && ends_last(job, place.row, splits)) merge_splits<T, D, Rows>(job, place, splits);
}

/// The grid of a launch: neighboring blocks read neighboring heads.
inline dim3 grid_of(const decode_job& job) {
  return dim3(static_cast<unsigned>(job.layer.kv_heads * job.passes), static_cast<unsigned>(job.operands.splits),
              static_cast<unsigned>(job.step.count));
}

}  // namespace cogen::kernels::cuda
