#include "network/kernels/device_numbers.cuh"
#include "network/kernels/launch.cuh"
#include "network/kernels/quantize_cuda.hpp"
#include "network/kernels/rope_cuda.hpp"
#include "network/kernels/token_index.cuh"

#include <cmath>
#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

constexpr int threads = 256;

// Eight pairs of dimensions: `low` with `high`, which are `pairs` apart.
struct eight_pairs {
  eight low;
  eight high;
};

struct eight_angles {
  eight cosine;
  eight sine;
};

__device__ eight_angles angles_at(const float* table, int row, int pairs, int first) {
  const float* angles = table + std::int64_t{row} * 2 * pairs + first;
  return {load_eight(angles), load_eight(angles + pairs)};
}

// The angle of a position is that of its place within the table, turned on by so many tables.
__device__ eight_angles angles_of(const rotation& turn, int position, int first) {
  eight_angles angles = angles_at(turn.table, position % turn.positions, turn.pairs, first);
  const int multiple = position / turn.positions;
  if (multiple == 0) return angles;
  const eight_angles far_angles = angles_at(turn.far, multiple, turn.pairs, first);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float cosine = angles.cosine.values[i], sine = angles.sine.values[i];
    angles.cosine.values[i] = cosine * far_angles.cosine.values[i] - sine * far_angles.sine.values[i];
    angles.sine.values[i] = fmaf(sine, far_angles.cosine.values[i], cosine * far_angles.sine.values[i]);
  }
  return angles;
}

__device__ eight_pairs rotated(const eight_pairs& x, const rotation& turn, int position, int first) {
  if (position / turn.positions >= turn.multiples) {
    eight nothing;
#pragma unroll
    for (float& each : nothing.values) each = NAN;
    return {nothing, nothing};
  }
  const eight_angles angles = angles_of(turn, position, first);
  eight_pairs y;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    y.low.values[i] = x.low.values[i] * angles.cosine.values[i] - x.high.values[i] * angles.sine.values[i];
    y.high.values[i] = fmaf(x.low.values[i], angles.sine.values[i], x.high.values[i] * angles.cosine.values[i]);
  }
  return y;
}

// One token a block. Its work is cut into parts of a head: eight pairs to rotate, or eight numbers to copy.
template <class T, class Stored>
class token_job {
 public:
  __device__ token_job(const kv_layer& layer, const new_tokens& step, const rotation& turn, const qkv_rows& rows)
      : layer_(layer), turn_(turn), rows_(rows), position_(step.positions[blockIdx.x]) {
    const std::int64_t slot = step.slots[blockIdx.x];
    const std::int64_t width = std::int64_t{layer.kv_heads} * layer.head_dim;
    const std::int64_t offset =
        slot * layer.slot_stride + token_index(layer, position_) * width * static_cast<int>(sizeof(Stored));
    q_ = static_cast<T*>(rows.qkv) + std::int64_t{blockIdx.x} * rows.stride;
    k_ = q_ + std::int64_t{rows.heads} * layer.head_dim;
    v_ = k_ + width;
    key_ = reinterpret_cast<Stored*>(layer.keys + offset);
    value_ = reinterpret_cast<Stored*>(layer.values + offset);
    sink_q_ = layer.sinks > 0 ? static_cast<T*>(rows.sink_q) + std::int64_t{blockIdx.x} * rows.heads * layer.head_dim
                              : nullptr;
  }

  __device__ void run() const {
    const int turning = turn_.pairs / 8;
    const int parts = turning + (layer_.head_dim - 2 * turn_.pairs) / 8;
    for (int index = threadIdx.x; index < (rows_.heads + layer_.kv_heads) * parts; index += threads) {
      const int head = index / parts, part = index % parts;
      const int dim = part < turning ? part * 8 : 2 * turn_.pairs + (part - turning) * 8;
      if (head < rows_.heads)
        query(head * layer_.head_dim + dim, dim, part < turning);
      else
        key((head - rows_.heads) * layer_.head_dim + dim, dim, part < turning);
    }
    for (int column = static_cast<int>(threadIdx.x) * 8; column < layer_.kv_heads * layer_.head_dim;
         column += threads * 8)
      store_eight(value_ + column, load_eight(v_ + column));
  }

 private:
  __device__ eight_pairs pairs_at(const T* source) const {
    return {load_eight(source), load_eight(source + turn_.pairs)};
  }

  template <class To>
  __device__ void store_pairs(To* target, const eight_pairs& x) const {
    store_eight(target, x.low);
    store_eight(target + turn_.pairs, x.high);
  }

  // `offset` counts from the first head, `dim` within the head.
  __device__ void query(int offset, int dim, bool turns) const {
    if (turns) {
      const eight_pairs x = pairs_at(q_ + offset);
      if (sink_q_)
        store_pairs(sink_q_ + offset, rotated(x, turn_, min(position_, layer_.sinks + layer_.window - 1), dim));
      store_pairs(q_ + offset, rotated(x, turn_, position_, dim));
    } else if (sink_q_) {
      store_eight(sink_q_ + offset, load_eight(q_ + offset));
    }
  }

  __device__ void key(int offset, int dim, bool turns) const {
    if (turns)
      store_pairs(key_ + offset, rotated(pairs_at(k_ + offset), turn_, position_, dim));
    else
      store_eight(key_ + offset, load_eight(k_ + offset));
  }

  const kv_layer& layer_;
  const rotation& turn_;
  const qkv_rows& rows_;
  int position_;
  T* q_;
  T* sink_q_;
  const T* k_;
  const T* v_;
  Stored* key_;
  Stored* value_;
};

template <class T, class Stored>
__global__ void __launch_bounds__(threads)
    rotate_and_append_kernel(kv_layer layer, new_tokens step, rotation turn, qkv_rows rows) {
  trigger_launch_completion();
  grid_dependency_synchronize();
  if (step.slots[blockIdx.x] < 0) return;
  token_job<T, Stored>(layer, step, turn, rows).run();
}

void check(const kv_layer& layer, const rotation& turn, const qkv_rows& rows) {
  const auto refuse = [](const char* why) { throw std::invalid_argument(std::string("rotate_and_append: ") + why); };
  if (layer.head_dim <= 0 || layer.head_dim % 8 != 0) refuse("head_dim is not a multiple of 8");
  if (turn.pairs < 0 || turn.pairs % 8 != 0 || 2 * turn.pairs > layer.head_dim)
    refuse("the pairs are not a multiple of 8, or more than the head has");
  if (turn.pairs > 0 && (turn.positions < 1 || turn.multiples < 1 || (turn.multiples > 1 && turn.far == nullptr)))
    refuse("there are no angles");
  if (rows.type != number::f16 && rows.type != number::bf16) refuse("only f16 and bf16 rows are possible");
  if (layer.type != rows.type && layer.type != number::fp8) refuse("the layer keeps neither the rows' type nor fp8");
  if (rows.stride % 8 != 0) refuse("the stride is not a multiple of 8");
  if (layer.sinks > 0 && (rows.sink_q == nullptr || layer.window <= 0))
    refuse("sinks need a window, and a place for queries rotated for them");
}

}  // namespace

void rotate_and_append(const kv_layer& layer, const new_tokens& step, const rotation& turn, const qkv_rows& rows,
                       cudaStream_t stream) {
  check(layer, turn, rows);
  with_half_type(rows.type, [&](auto type) {
    using T = decltype(type);
    const auto kernel = layer.type == number::fp8 ? rotate_and_append_kernel<T, fp8> : rotate_and_append_kernel<T, T>;
    launch("rotate_and_append", kernel, launch_shape{dim3(static_cast<unsigned>(step.count)), threads, 0, true}, stream,
           layer, step, turn, rows);
  });
  if (layer.quantized.keys.bits > 0) quantize_due_blocks(layer, step, stream);
}

}  // namespace cogen::kernels::cuda
