#pragma once

#include "network/kernels/input_rows.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/quantized_groups.hpp"
#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

// Products of activations and one tile of weights. Every output is one chain of multiply-adds over ascending
// inputs, whichever path computes it.
namespace cogen::kernels {
namespace {

using vector = simd::f;

constexpr std::int64_t prefetch_ahead = 4096;

// Fetches what lies some way behind the bytes of the lanes at hand.
template <int Bytes>
COGEN_INLINE void prefetch(const std::byte* address) {
  COGEN_UNROLL
  for (int line = 0; line < Bytes; line += 64) __builtin_prefetch(address + prefetch_ahead + line);
}

// Each weights class is a group of inputs of some lanes: it says how many inputs a group has, and group(count, use)
// calls use(input, w) with its weights for C vectors of outputs, for each input in order. `count` is below the group's
// size only for bf16's last.

// Groups of so many bytes, one after the other.
template <int Inputs, int Bytes>
struct plain_weights {
  static constexpr int inputs = Inputs;
  static constexpr int bytes = Bytes;

  COGEN_INLINE plain_weights(const std::byte* tile, int lane, std::int64_t group)
      : data(tile + group * Bytes), lane(lane) {}
  COGEN_INLINE void advance() { data += Bytes; }

  const std::byte* data;
  int lane;
};

struct f32_weights : plain_weights<1, tile_lanes * 4> {
  using plain_weights::plain_weights;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE void group(int, Use use) const {
    const auto* source = reinterpret_cast<const float*>(data) + lane;
    if constexpr (Ahead) prefetch<4 * C * simd::width>(data + 4 * lane);
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load(source + c * simd::width);
    use(0, w);
  }
};

struct f16_weights : plain_weights<1, tile_lanes * 2> {
  using plain_weights::plain_weights;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE void group(int, Use use) const {
    if constexpr (Ahead) prefetch<2 * C * simd::width>(data + 2 * lane);
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load_f16(data + 2 * (lane + c * simd::width));
    use(0, w);
  }
};

struct bf16_weights : plain_weights<2, tile_lanes * 4> {
  using plain_weights::plain_weights;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE void group(int count, Use use) const {
    if constexpr (Ahead) prefetch<4 * C * simd::width>(data + 4 * lane);
    simd::i pairs[C];
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) pairs[c] = simd::load_bits(data + 4 * (lane + c * simd::width));
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::low_bf16(pairs[c]);
    use(0, w);
    if (count < 2) return;
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::high_bf16(pairs[c]);
    use(1, w);
  }
};

// Weights whose values are turned into numbers, which meet their scale in one multiply-add.
template <class Quantized>
struct scaled_weights : Quantized {
  using Quantized::Quantized;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE void group(int, Use use) const {
    if constexpr (Ahead) prefetch<2 * C * simd::width>(this->data + 2 * this->lane);
    constexpr int count = Quantized::steps / Quantized::parts;
    part<C, Ahead>(0, 0, count, use);
    if constexpr (Quantized::parts == 2) part<C, Ahead>(1, count, Quantized::steps, use);
  }

 private:
  using values = typename Quantized::values;
  static constexpr bool as_bytes = values::bits > 5;

  // Steps that share their scales.
  template <int C, bool Ahead, class Use>
  COGEN_INLINE void part(int number, int first, int last, Use use) const {
    vector scale[C], offset[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const vector stored = this->scale(c, number);
      scale[c] = as_bytes ? simd::byte_scale(stored) : stored;
      if constexpr (Quantized::minimum && as_bytes)
        offset[c] = simd::add(this->least(c, number), simd::byte_offset(stored, values::zero));
      else if constexpr (Quantized::minimum)
        offset[c] = this->least(c, number);
      else if constexpr (as_bytes)
        offset[c] = simd::byte_offset(stored, values::zero);
      else
        offset[c] = values::nonlinear ? simd::zero() : simd::mul(stored, simd::set(-values::zero));
    }
    for (int step = first; step < last; ++step) {
      if constexpr (Ahead) prefetch_step<C>(step);
      quad<0, C>(step, scale, offset, use);
    }
  }

  template <int C>
  COGEN_INLINE void prefetch_step(int step) const {
    prefetch<4 * C * simd::width>(this->lanes(0) + 4 * tile_lanes * step);
    if constexpr (values::high_bits > 0)
      if (values::shift_of_high(step) == 0)
        prefetch<4 * C * simd::width>(this->lanes(0) + 4 * tile_lanes * values::word_of_high(step));
  }

  template <int Quad, int C, class Use>
  COGEN_INLINE void quad(int step, const vector (&scale)[C], const vector (&offset)[C], Use use) const {
    simd::i packed[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c)
      packed[c] = this->codes.template loose_quad<Quad>(this->codes.load(this->lanes(c), step));
    number<0, C>(packed, scale, offset, 4 * (values::quads_in_step * step + Quad), use);
    // Words kept from one quad to the next would take registers that the sums need.
    if constexpr (values::high_bits > 1) asm volatile("" ::: "memory");
    if constexpr (Quad + 1 < values::quads_in_step) quad<Quad + 1, C>(step, scale, offset, use);
  }

  template <int Input, int C, class Use>
  COGEN_INLINE void number(const simd::i (&packed)[C], const vector (&scale)[C], const vector (&offset)[C], int first,
                           Use use) const {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::fma(this->codes.template number<Input>(packed[c]), scale[c], offset[c]);
    use(first + Input, w);
    if constexpr (Input < 3) number<Input + 1, C>(packed, scale, offset, first, use);
  }
};

// Numbers of 8 bits: 32 of 128 inputs that share a scale.
class e4m3_weights {
 public:
  static constexpr int inputs = quantized_group;
  static constexpr int groups = e4m3_block / quantized_group;
  static constexpr int header = tile_lanes * 4;
  static constexpr int group_bytes = tile_lanes * quantized_group;
  /// With its share of its block's header.
  static constexpr int bytes = group_bytes + header / groups;

  COGEN_INLINE e4m3_weights(const std::byte* tile, int lane, std::int64_t group) : lane_(lane) {
    block_ = tile + group / groups * (header + groups * group_bytes);
    const auto index = static_cast<int>(group % groups);
    data_ = block_ + header + index * group_bytes;
    left_ = groups - index;
  }

  COGEN_INLINE void advance() {
    data_ += group_bytes;
    if (--left_ > 0) return;
    left_ = groups;
    block_ = data_;
    data_ += header;
  }

  template <int C, bool Ahead, class Use>
  COGEN_INLINE void group(int, Use use) const {
    vector scale[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c)
      scale[c] = simd::mul(simd::load(reinterpret_cast<const float*>(block_) + lane_ + c * simd::width),
                           simd::set(simd::e4m3_factor));
    for (int input = 0; input < inputs; ++input) {
      const std::byte* source = data_ + input * tile_lanes + lane_;
      if constexpr (Ahead) prefetch<C * simd::width>(source);
      vector w[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) w[c] = simd::mul(simd::load_e4m3(source + c * simd::width), scale[c]);
      use(input, w);
    }
  }

 private:
  const std::byte* block_;
  const std::byte* data_;
  int lane_;
  int left_;
};

// Whether unpacking leaves fewer registers to sums.
template <class Weights>
constexpr bool takes_registers = false;
template <class Scales, int Low, int High, int Zero>
constexpr bool takes_registers<scaled_weights<quantized_weights<Scales, packed_values<Low, High, Zero>>>> = High > 1;

template <int M, int C>
struct accumulators {
  vector sum[M][C];

  COGEN_INLINE void clear() {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = simd::zero();
    }
  }
  COGEN_INLINE void load(const float* source, std::int64_t stride) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = simd::load(source + m * stride + c * simd::width);
    }
  }
  COGEN_INLINE void store(float* target, std::int64_t stride) const {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) simd::store(target + m * stride + c * simd::width, sum[m][c]);
    }
  }
  COGEN_INLINE void add(const input_rows<float, M>& x, int index, const vector (&w)[C]) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const vector value = simd::set(x[m][index]);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = simd::fma(w[c], value, sum[m][c]);
    }
  }
};

// Sums that have seen all inputs, to y.
template <int M, int C>
COGEN_INLINE void finish(const accumulators<M, C>& total, const linear_job& job, int lane, std::int64_t row) {
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const int column = lane + c * simd::width;
    const int live = job.last_lane - column;
    if (live <= 0) return;
    const vector bias = job.bias ? simd::load_first(job.bias + column, live) : simd::zero();
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      float* y = job.y[row + m] + column;
      vector value = job.bias ? simd::add(total.sum[m][c], bias) : total.sum[m][c];
      if (job.add_to_y) value = simd::add(value, simd::load_first(y, live));
      simd::store_first(y, value, live);
    }
  }
}

// M rows and C vectors of outputs, dequantizing in registers.
template <class Weights, int M, int C>
void multiply(const linear_job& job, int lane) {
  accumulators<M, C> total;
  total.clear();
  Weights weights(job.tile, lane, 0);
  input_rows<float, M> x(job.x);
  for (std::int64_t input = 0; input < job.inputs; input += Weights::inputs, weights.advance()) {
    const auto left = static_cast<int>(job.inputs - input < Weights::inputs ? job.inputs - input : Weights::inputs);
    weights.template group<C, true>(
        left, [&](int index, const vector(&w)[C]) __attribute__((always_inline)) { total.add(x, index, w); });
    x.advance(Weights::inputs);
  }
  finish(total, job, lane, 0);
}

template <class Weights, int M, int C>
void multiply_rows(const linear_job& job) {
  if constexpr (M > 1)
    if (job.rows < M) return multiply_rows<Weights, M - 1, C>(job);
  for (int lane = job.first_lane; lane < job.last_lane; lane += C * simd::width) multiply<Weights, M, C>(job, lane);
}

constexpr int panel_inputs = 64;  // 16 KiB of floats: what stays in the first-level cache beside the rows

// Weights of some outputs and inputs as float32, [last - first][stride], read by all rows.
struct panel_step {
  const linear_job& job;
  const float* panel;
  std::int64_t stride;
  float* sums;  // [rows][stride]
  int lane;     // of the panel's first output
  int lanes;
  std::int64_t first;
  std::int64_t last;
  const std::byte* next;  // the next panel's tiled weights
  std::int64_t next_bytes;
};

template <class Weights, int C>
void fill_panel(const panel_step& step, float* panel) {
  for (int lane = 0; lane < step.lanes; lane += C * simd::width) {
    Weights weights(step.job.tile, step.lane + lane, step.first / Weights::inputs);
    for (std::int64_t input = step.first; input < step.last; input += Weights::inputs, weights.advance()) {
      const auto left = static_cast<int>(step.last - input < Weights::inputs ? step.last - input : Weights::inputs);
      float* target = panel + (input - step.first) * step.stride;
      const auto store = [&](int index, const vector(&w)[C]) __attribute__((always_inline)) {
        COGEN_UNROLL
        for (int c = 0; c < C; ++c) simd::store(target + index * step.stride + lane + c * simd::width, w[c]);
      };
      weights.template group<C, false>(left, store);
    }
  }
}

// Lines of the next panel that are fetched while a block of rows is multiplied: one for two inputs.
constexpr std::int64_t lines_per_block = panel_inputs / 2;

template <int M, int C>
void multiply_panel(const panel_step& step, int lane, std::int64_t row, std::int64_t line) {
  accumulators<M, C> total;
  float* sums = step.sums + row * step.stride + lane;
  if (step.first == 0)
    total.clear();
  else
    total.load(sums, step.stride);
  input_rows<float, M> x(step.job.x.rest(row, step.first));
  const float* panel = step.panel + lane;
  const std::int64_t inputs = step.last - step.first;
  const auto add = [&](int index) __attribute__((always_inline)) {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load(panel + c * simd::width);
    total.add(x, index, w);
    panel += step.stride;
  };
  const bool ahead = 64 * line < step.next_bytes;
  const std::byte* fetched = step.next + (ahead ? 64 * line : 0);
  const std::int64_t fetch_stride = ahead ? 64 : 0;
  std::int64_t input = 0;
  for (; input + 2 <= inputs; input += 2, x.advance(2)) {
    __builtin_prefetch(fetched);
    fetched += fetch_stride;
    add(0);
    add(1);
  }
  if (input < inputs) add(0);
  if (step.last == step.job.inputs)
    finish(total, step.job, step.lane + lane, row);
  else
    total.store(sums, step.stride);
}

template <int M, int Least, int C>
COGEN_INLINE void multiply_panel_rows(const panel_step& step, std::int64_t row, std::int64_t rows, std::int64_t& line) {
  if constexpr (M > Least)
    if (rows < M) return multiply_panel_rows<M - 1, Least, C>(step, row, rows, line);
  for (int lane = 0; lane < step.lanes; lane += C * simd::width, line += lines_per_block)
    multiply_panel<M, C>(step, lane, row, line);
}

// All rows, in blocks of nearly equal size: half of what a register tile holds at least, if there are that many.
template <int Rows, int C>
void multiply_panel_blocks(const panel_step& step) {
  const std::int64_t rows = step.job.rows;
  const std::int64_t blocks = (rows + Rows - 1) / Rows;
  constexpr int fewest = Rows / 2 < simd::narrow_rows + 1 ? Rows / 2 : simd::narrow_rows + 1;
  std::int64_t line = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t row = rows * block / blocks;
    multiply_panel_rows<Rows, fewest, C>(step, row, rows * (block + 1) / blocks - row, line);
  }
}

template <class Weights, int Rows, int C>
void multiply_by_panels(const linear_job& job) {
  alignas(64) float memory[panel_inputs * tile_lanes];
  alignas(64) float sums[max_linear_rows * tile_lanes];
  const int lanes = job.last_lane - job.first_lane > tile_lanes / 2 ? tile_lanes : tile_lanes / 2;
  for (std::int64_t first = 0; first < job.inputs; first += panel_inputs) {
    const std::int64_t last = first + panel_inputs < job.inputs ? first + panel_inputs : job.inputs;
    const std::int64_t panel_bytes = panel_inputs / Weights::inputs * Weights::bytes;
    const std::byte* next = job.tile + (first / panel_inputs + 1) * panel_bytes;
    panel_step step{job, memory, lanes, sums, job.first_lane, lanes, first, last, next, panel_bytes};
    fill_panel<Weights, C>(step, memory);
    multiply_panel_blocks<Rows, C>(step);
  }
}

template <class Weights>
void multiply_tile(const linear_job& job) {
  const bool wide = job.last_lane - job.first_lane > 2 * simd::width;
  constexpr int wide_rows = takes_registers<Weights> ? simd::wide_rows / 2 : simd::wide_rows;
  if (wide && job.rows <= wide_rows) return multiply_rows<Weights, wide_rows, 4>(job);
  if (job.rows <= simd::narrow_rows) return multiply_rows<Weights, simd::narrow_rows, 2>(job);
  if constexpr (simd::wide_panel_rows > 0)
    if (wide) return multiply_by_panels<Weights, simd::wide_panel_rows, 4>(job);
  multiply_by_panels<Weights, simd::narrow_panel_rows, 2>(job);
}

void linear_tile(const linear_job& job) {
  switch (job.storage) {
    case weight_storage::f32:
      return multiply_tile<f32_weights>(job);
    case weight_storage::f16:
      return multiply_tile<f16_weights>(job);
    case weight_storage::bf16:
      return multiply_tile<bf16_weights>(job);
    case weight_storage::e4m3:
      return multiply_tile<e4m3_weights>(job);
    default:
      return with_quantized_weights(
          job.storage, [&](auto weights) { multiply_tile<scaled_weights<typename decltype(weights)::type>>(job); });
  }
}

}  // namespace
}  // namespace cogen::kernels
