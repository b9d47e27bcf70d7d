#include "network/kernels/attention_split.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/quantize_cuda.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace cogen::kernels::cuda {
namespace {

constexpr int max_heads = 16;  // that one thread block serves

constexpr int divided_up(int n, int divisor) { return (n + divisor - 1) / divisor; }

template <class T, class Stored, int D>
using form_of = tile_form<std::conditional_t<std::is_same_v<Stored, fp8>, f16, T>, Stored, D>;

// As many as leave registers for a tile of keys and one of values on their way.
template <class Stored, int D, int Rows>
constexpr int blocks_at_once = D > 128 || D* Rows * sizeof(Stored) > 2048 ? 2 : 3;

template <class T, class Stored, int D, int Rows>
__global__ void __launch_bounds__(block_shape<D, Rows>::threads, blocks_at_once<Stored, D, Rows>)
    decode_attention_kernel(const __grid_constant__ decode_job job) {
  using form = form_of<T, Stored, D>;
  constexpr int warps = block_shape<D, Rows>::warps;
  __shared__ block_memory<D, Rows> memory;
  trigger_launch_completion();
  grid_dependency_synchronize();
  const split_place place(job);
  if (skip_padding<T>(job, place)) return;
  const row_cut cut(job.layer, job.step.positions[place.row], job.operands);
  if (place.split >= cut.splits) return;

  const bool sinks = job.layer.sinks > 0 && place.split == 0;
  load_queries<T, form, Rows>(queries_of<T>(job, place), place.heads, D, memory.queries[0]);
  if (sinks) {
    const std::int64_t first = (std::int64_t{place.row} * job.operands.heads + place.first_head) * D;
    load_queries<T, form, Rows>(static_cast<const T*>(job.operands.sink_q) + first, place.heads, D, memory.queries[1]);
  }
  __syncthreads();

  const head_rows rows = rows_of(job, place, form::size);
  const float scale = job.operands.scale * log2_e;
  gathered<D, Rows> state;
  if (sinks) attend<form, D, Rows, warps>(rows, cut.sinks, memory.queries[1], scale, state);
  attend<form, D, Rows, warps>(rows, cut.split(place.split), memory.queries[0], scale, state);
  __syncthreads();
  publish<form>(state, place.heads, memory);
  __syncthreads();
  finish<T>(job, place, cut.splits, memory);
}

template <class T, class Stored, int D, int Rows>
void attend_splits(const decode_job& job, cudaStream_t stream) {
  launch("decode_attention", decode_attention_kernel<T, Stored, D, Rows>,
         launch_shape{grid_of(job), block_shape<D, Rows>::threads, 0, true}, stream, job);
}

template <class T, class Stored, int D>
void attend_splits(const decode_job& job, cudaStream_t stream) {
  if (job.together <= 8) return attend_splits<T, Stored, D, 8>(job, stream);
  attend_splits<T, Stored, D, 16>(job, stream);
}

template <class T, class Stored>
void attend_splits(const decode_job& job, cudaStream_t stream) {
  if (job.layer.head_dim == 64) return attend_splits<T, Stored, 64>(job, stream);
  if (job.layer.head_dim == 96) return attend_splits<T, Stored, 96>(job, stream);
  if (job.layer.head_dim == 128) return attend_splits<T, Stored, 128>(job, stream);
  attend_splits<T, Stored, 256>(job, stream);
}

void attend_splits(const decode_job& job, cudaStream_t stream) {
  if (job.layer.quantized.keys.bits > 0) return attend_quantized_splits(job, stream);
  with_half_type(job.operands.type, [&](auto type) {
    using T = decltype(type);
    if (job.layer.type == number::fp8)
      attend_splits<T, fp8>(job, stream);
    else
      attend_splits<T, T>(job, stream);
  });
}

void check(const kv_layer& layer, const new_tokens& step, const decode_operands& operands) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("decode_attention: " + why); };
  if (!supports_decode_attention(layer, operands.type, operands.heads))
    refuse("heads of " + std::to_string(layer.head_dim) + " dimensions, " + std::to_string(operands.heads) + " on " +
           std::to_string(layer.kv_heads) + ", of these types are not supported");
  constexpr int max_in_grid = 65535;
  if (operands.splits < 1 || operands.splits > max_in_grid || step.count > max_in_grid)
    refuse("rows and splits may be up to 65,535");
  if (operands.min_blocks < 1) refuse("a part has at least one block");
  if (operands.splits > 1 && (operands.workspace == nullptr || operands.counters == nullptr))
    refuse("splits need a workspace and counters");
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
         heads % layer.kv_heads == 0 && (layer.quantized.keys.bits == 0 || supports_quantization(layer));
}

std::size_t decode_workspace_bytes(int rows, int heads, int head_dim, int splits) {
  if (splits <= 1) return 0;
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(heads) * static_cast<std::size_t>(splits) *
         (static_cast<std::size_t>(head_dim) * sizeof(float) + sizeof(partial));
}

int fixed_splits(std::int64_t length) {
  constexpr std::int64_t most = 32;
  const auto blocks = (length + block_tokens - 1) / block_tokens + 1;  // a window may begin within one
  return static_cast<int>(std::min((blocks + min_fixed_blocks - 1) / min_fixed_blocks, most));
}

int suggested_splits(int rows, int kv_heads, std::int64_t length, int multiprocessors) {
  constexpr int blocks_each = 12;  // enough that the last ones to finish do not matter
  const int wanted = divided_up(multiprocessors * blocks_each, std::max(1, rows * kv_heads));
  const auto most = static_cast<int>(std::min<std::int64_t>((length + block_tokens - 1) / block_tokens, 64));
  return std::clamp(wanted, 1, std::max(1, most));
}

void decode_attention(const kv_layer& layer, const new_tokens& step, const decode_operands& operands,
                      cudaStream_t stream) {
  check(layer, step, operands);
  const int group = operands.heads / layer.kv_heads, passes = divided_up(group, max_heads);
  const decode_job job{layer, step, operands, group, divided_up(group, passes), passes};
  attend_splits(job, stream);
}

}  // namespace cogen::kernels::cuda
