#include "kernels/attention_cuda.hpp"
#include "kernels/attention_tile.cuh"
#include "kernels/launch.cuh"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>

namespace cogen::kernels::cuda {
namespace {

constexpr int block_tokens = 64;
constexpr int most_heads = 16;  // that one thread block serves
constexpr int merge_threads = 128;

constexpr int divided_up(int n, int by) { return (n + by - 1) / by; }

// Everything that a launch is told.
struct decode_job {
  kv_layer layer;
  step_tokens step;
  decode_operands operands;
  int group;     // query heads of a key head
  int together;  // of those, in one thread block
  int passes;    // thread blocks to a key head
};

// A split's partial result of one head: sums [head_dim] in `sums`, and this.
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

// How a row's keys are cut, by its position alone.
struct row_cut {
  key_span sinks;  // seen by the queries for sinks
  key_span rest;
  int first_block;
  int blocks;  // of a split
  int splits;  // that have something to do

  __device__ row_cut(const kv_layer& layer, int position, int most_splits) {
    const int first = layer.window > 0 && position >= layer.window ? position + 1 - layer.window : 0;
    sinks = {0, min(layer.sinks, position + 1)};
    rest = {max(first, layer.sinks), position + 1};
    first_block = rest.begin / block_tokens;
    const int count = max(0, (rest.end + block_tokens - 1) / block_tokens - first_block);
    blocks = max(1, (count + most_splits - 1) / most_splits);
    splits = max(1, (count + blocks - 1) / blocks);
  }

  __device__ key_span split(int number) const {
    const int begin = (first_block + number * blocks) * block_tokens;
    return {max(rest.begin, begin), min(rest.end, begin + blocks * block_tokens)};
  }
};

template <class T, class Stored>
using multiplied = std::conditional_t<std::is_same_v<Stored, fp8>, f16, T>;

template <class T, class Stored, int D, int Rows>
struct shape {
  using form = tile_form<multiplied<T, Stored>, Stored, D>;
  static constexpr int warps = D * Rows > 2048 ? 2 : 4;
  static constexpr int threads = warps * 32;
  static constexpr int blocks = D * form::size >= 256 ? 2 : 3;  // on a multiprocessor, at least
  static constexpr int sum_stride = D + 4;
};

// Queries while keys are read; afterwards each warp's results, to be merged.
template <class Shape, int Rows>
union block_memory {
  query_words<Rows> queries[2][Shape::form::steps * 32];  // for most keys, and for sinks
  struct {
    float sums[Shape::warps][Rows][Shape::sum_stride];
    partial totals[Shape::warps][Rows];
  } results;
};

// Queries [heads, D], in the order in which products take them.
template <class T, class Form, int Rows>
__device__ void load_queries(const T* from, int heads, int head_dim, query_words<Rows>* to) {
  for (int at = static_cast<int>(threadIdx.x); at < Form::steps * 32; at += static_cast<int>(blockDim.x)) {
    const int lane = at % 32, dim = Form::key_dim(at / 32, lane);
    query_words<Rows> query{};
#pragma unroll
    for (int half = 0; half < Rows / 8; ++half) {
      const int head = lane / 4 + 8 * half;
      if (head >= heads) continue;
      const auto four = *reinterpret_cast<const words<2>*>(from + head * head_dim + dim);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const float2 x = widen_word<T>(four.at[pair]);
        query.at.at[pair * (Rows / 8) + half] = word_of<typename Form::type>(x.x, x.y);
      }
    }
    to[at] = query;
  }
}

template <class Shape, int D, int Rows>
__device__ void publish(gathered<D, Rows>& state, int heads, block_memory<Shape, Rows>& memory) {
  using form = typename Shape::form;
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
        memory.results.sums[warp][head][form::value_dim(product, lane % 4 * 2 + side)] =
            state.values[product][2 * half + side];
  }
}

__device__ float share_of(const partial& total, float most) {
  return total.most == -INFINITY ? 0.0F : exp2f(total.most - most);
}

// One split of one row for the heads of one pass over a key head.
template <class T, class Stored, int D, int Rows>
__global__ void __launch_bounds__(shape<T, Stored, D, Rows>::threads, shape<T, Stored, D, Rows>::blocks)
    decode_attention_kernel(const __grid_constant__ decode_job job) {
  using form_of = shape<T, Stored, D, Rows>;
  using form = typename form_of::form;
  constexpr int warps = form_of::warps;
  constexpr float log2_e = 1.44269504F;
  __shared__ block_memory<form_of, Rows> memory;

  const kv_layer& layer = job.layer;
  const decode_operands& operands = job.operands;
  const int row = static_cast<int>(blockIdx.z), split = static_cast<int>(blockIdx.y);
  const int kv_head = static_cast<int>(blockIdx.x) / job.passes, pass = static_cast<int>(blockIdx.x) % job.passes;
  const int first_head = kv_head * job.group + pass * job.together;
  const int heads = min(job.together, job.group - pass * job.together);
  T* out = static_cast<T*>(operands.out) + (std::int64_t{row} * operands.heads + first_head) * D;

  const int slot = job.step.slots[row];
  if (slot < 0) {
    if (operands.splits == 1)
      for (int at = static_cast<int>(threadIdx.x) * 8; at < heads * D; at += form_of::threads * 8)
        store_eight(out + at, eight{});
    return;
  }
  const row_cut cut(layer, job.step.positions[row], operands.splits);
  if (split >= cut.splits) return;

  load_queries<T, form>(static_cast<const T*>(operands.q) + row * operands.q_stride + first_head * D, heads, D,
                        memory.queries[0]);
  if (layer.sinks > 0 && split == 0)
    load_queries<T, form>(
        static_cast<const T*>(operands.sink_q) + (std::int64_t{row} * operands.heads + first_head) * D, heads, D,
        memory.queries[1]);
  __syncthreads();

  const std::int64_t at = slot * layer.slot_stride + std::int64_t{kv_head} * D * form::size;
  const head_rows rows{layer.keys + at, layer.values + at, layer.kv_heads * D * form::size, layer.sinks,
                       layer.ring > 0 ? layer.ring : INT_MAX};
  gathered<D, Rows> state;
  if (layer.sinks > 0 && split == 0)
    attend<form, D, Rows, warps>(rows, cut.sinks, memory.queries[1], operands.scale * log2_e, state);
  attend<form, D, Rows, warps>(rows, cut.split(split), memory.queries[0], operands.scale * log2_e, state);
  __syncthreads();
  publish<form_of>(state, heads, memory);
  __syncthreads();

  const partials to(job);
  for (int i = static_cast<int>(threadIdx.x); i < heads * D; i += form_of::threads) {
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
    if (operands.splits == 1) {
      out[i] = T(value / sum);
    } else {
      const std::int64_t index = partials::index(job, row, first_head + head, split);
      to.sums[index * D + dim] = value;
      if (dim == 0) to.totals[index] = {most, sum};
    }
  }
}

// One head of one row: each warp adds up every fourth split, and the warps' sums are added in order.
template <class T>
__global__ void __launch_bounds__(merge_threads) merge_splits_kernel(const __grid_constant__ decode_job job) {
  constexpr int warps = merge_threads / 32;
  constexpr int most_dims = 256;
  __shared__ float4 sums[warps][most_dims / 4];
  __shared__ float weights[warps];

  const int head = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int head_dim = job.layer.head_dim;
  T* out = static_cast<T*>(job.operands.out) + (std::int64_t{row} * job.operands.heads + head) * head_dim;
  if (job.step.slots[row] < 0) {
    for (int dim = static_cast<int>(threadIdx.x); dim < head_dim; dim += merge_threads) out[dim] = T(0.0F);
    return;
  }
  const int splits = row_cut(job.layer, job.step.positions[row], job.operands.splits).splits;
  const partials from(job);
  const partial* totals = from.totals + partials::index(job, row, head, 0);
  const float* values = from.sums + partials::index(job, row, head, 0) * head_dim;

  float most = -INFINITY;
  for (int split = lane; split < splits; split += 32) most = fmaxf(most, totals[split].most);
  for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, lanes));

  float4 sum[2] = {};
  float weight = 0.0F;
#pragma unroll 4
  for (int split = warp; split < splits; split += warps) {
    const float share = share_of(totals[split], most);
    weight = fmaf(totals[split].sum, share, weight);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int dim = (part * 32 + lane) * 4;
      if (dim >= head_dim) continue;
      const float4 value = *reinterpret_cast<const float4*>(values + std::int64_t{split} * head_dim + dim);
      sum[part].x = fmaf(value.x, share, sum[part].x);
      sum[part].y = fmaf(value.y, share, sum[part].y);
      sum[part].z = fmaf(value.z, share, sum[part].z);
      sum[part].w = fmaf(value.w, share, sum[part].w);
    }
  }
#pragma unroll
  for (int part = 0; part < 2; ++part) sums[warp][part * 32 + lane] = sum[part];
  if (lane == 0) weights[warp] = weight;
  __syncthreads();

  for (int dim = static_cast<int>(threadIdx.x); dim < head_dim; dim += merge_threads) {
    float value = 0.0F, all = 0.0F;
#pragma unroll
    for (int each = 0; each < warps; ++each) {
      value += reinterpret_cast<const float*>(sums[each])[dim];
      all += weights[each];
    }
    out[dim] = T(value / all);
  }
}

template <class T, class Stored, int D, int Rows>
void launch_splits(const decode_job& job, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(job.layer.kv_heads * job.passes), static_cast<unsigned>(job.operands.splits),
                  static_cast<unsigned>(job.step.count));
  launch("decode_attention", decode_attention_kernel<T, Stored, D, Rows>, grid, shape<T, Stored, D, Rows>::threads,
         stream, job);
}

template <class T, class Stored, int D>
void launch_splits(const decode_job& job, cudaStream_t stream) {
  if (job.together <= 8) return launch_splits<T, Stored, D, 8>(job, stream);
  launch_splits<T, Stored, D, 16>(job, stream);
}

template <class T, class Stored>
void launch_splits(const decode_job& job, cudaStream_t stream) {
  if (job.layer.head_dim == 64) return launch_splits<T, Stored, 64>(job, stream);
  if (job.layer.head_dim == 96) return launch_splits<T, Stored, 96>(job, stream);
  if (job.layer.head_dim == 128) return launch_splits<T, Stored, 128>(job, stream);
  launch_splits<T, Stored, 256>(job, stream);
}

void check(const kv_layer& layer, const step_tokens& step, const decode_operands& operands) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("decode_attention: " + why); };
  if (!supports_decode_attention(layer, operands.type, operands.heads))
    refuse("heads of " + std::to_string(layer.head_dim) + " dimensions, " + std::to_string(operands.heads) + " on " +
           std::to_string(layer.kv_heads) + ", of these types are not supported");
  constexpr int most_in_grid = 65535;
  if (operands.splits < 1 || operands.splits > most_in_grid || step.count > most_in_grid)
    refuse("rows and splits may be up to 65,535");
  if (operands.splits > 1 && operands.workspace == nullptr) refuse("splits need a workspace");
  if (operands.q_stride % 8 != 0) refuse("the queries' stride is not a multiple of 8");
  if (layer.ring != 0 && layer.ring < tile_keys) refuse("a ring has at least 16 places");
  if (layer.sinks > 0 && (operands.sink_q == nullptr || layer.window <= 0))
    refuse("sinks need a window, and queries rotated for them");
}

}  // namespace

bool supports_decode_attention(const kv_layer& layer, number type, int heads) {
  const int dim = layer.head_dim;
  return (dim == 64 || dim == 96 || dim == 128 || dim == 256) && (type == number::f16 || type == number::bf16) &&
         (layer.type == type || layer.type == number::fp8) && layer.kv_heads > 0 && heads > 0 &&
         heads % layer.kv_heads == 0;
}

std::size_t decode_workspace_bytes(int rows, int heads, int head_dim, int splits) {
  if (splits <= 1) return 0;
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(heads) * static_cast<std::size_t>(splits) *
         (static_cast<std::size_t>(head_dim) * sizeof(float) + sizeof(partial));
}

int suggested_splits(int rows, int kv_heads, std::int64_t length, int multiprocessors) {
  constexpr int blocks_each = 12;  // enough that the last ones to finish do not matter
  const int wanted = divided_up(multiprocessors * blocks_each, std::max(1, rows * kv_heads));
  const auto most = static_cast<int>(std::min<std::int64_t>((length + block_tokens - 1) / block_tokens, 64));
  return std::clamp(wanted, 1, std::max(1, most));
}

void decode_attention(const kv_layer& layer, const step_tokens& step, const decode_operands& operands,
                      cudaStream_t stream) {
  check(layer, step, operands);
  const int group = operands.heads / layer.kv_heads, passes = divided_up(group, most_heads);
  const decode_job job{layer, step, operands, group, divided_up(group, passes), passes};
  with_half_type(operands.type, [&](auto type) {
    using T = decltype(type);
    if (layer.type == number::fp8)
      launch_splits<T, fp8>(job, stream);
    else
      launch_splits<T, T>(job, stream);
    if (operands.splits > 1)
      launch("decode_attention's merge", merge_splits_kernel<T>,
             dim3(static_cast<unsigned>(operands.heads), static_cast<unsigned>(step.count)), merge_threads, stream,
             job);
  });
}

}  // namespace cogen::kernels::cuda
