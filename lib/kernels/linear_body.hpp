#pragma once

#include "kernels/input_rows.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

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

// Each weights class says how many inputs and bytes a group has, and calls use(input, w) with the group's weights for C
// vectors of outputs from `lane` on, for each input in order. `inputs` is below the group's size only for bf16's last.

struct f32_weights {
  static constexpr int inputs = 1;
  static constexpr int bytes = tile_lanes * 4;
  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    const auto* from = reinterpret_cast<const float*>(data) + lane;
    if constexpr (Ahead) prefetch<4 * C * simd::width>(data + 4 * lane);
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load(from + c * simd::width);
    use(0, w);
  }
};

struct f16_weights {
  static constexpr int inputs = 1;
  static constexpr int bytes = tile_lanes * 2;
  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    if constexpr (Ahead) prefetch<2 * C * simd::width>(data + 2 * lane);
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load_f16(data + 2 * (lane + c * simd::width));
    use(0, w);
  }
};

struct bf16_weights {
  static constexpr int inputs = 2;
  static constexpr int bytes = tile_lanes * 4;
  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int count, Use use) {
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

// Scales and minima of 16 bits, or wide ones of 32.
template <bool Wide>
COGEN_INLINE vector load_scales(const std::byte* data, int at) {
  if constexpr (Wide)
    return simd::load(reinterpret_cast<const float*>(data) + at);
  else
    return simd::load_f16(data + 2 * at);
}

// With halves the first 16 inputs have one scale and the others another.
template <bool Minimum, bool Wide = false, bool Halves = false>
struct q4_weights {
  static constexpr int inputs = quantized_group;
  static constexpr int scale_bytes = Wide ? 4 : 2;
  static constexpr int header = tile_lanes * scale_bytes * (Minimum || Halves ? 2 : 1);
  static constexpr int bytes = header + tile_lanes * quantized_group / 2;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    if constexpr (Ahead) {
      prefetch<scale_bytes * C * simd::width>(data + scale_bytes * lane);
      if constexpr (Minimum || Halves)
        prefetch<scale_bytes * C * simd::width>(data + scale_bytes * (tile_lanes + lane));
    }
    part<C, Ahead>(data, lane, 0, Halves ? 2 : 4, use);
    if constexpr (Halves) part<C, Ahead>(data, lane, 2, 4, use);
  }

 private:
  // Eights of inputs that share their scales.
  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void part(const std::byte* data, int lane, int first, int last, Use use) {
    vector scale[C], offset[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const int at = lane + c * simd::width;
      scale[c] = load_scales<Wide>(data, Halves && first > 0 ? tile_lanes + at : at);
      offset[c] = Minimum ? load_scales<Wide>(data, tile_lanes + at) : simd::mul(scale[c], simd::set(-8.0F));
    }
    for (int eight = first; eight < last; ++eight) {
      const std::byte* lanes = data + header + 4 * (eight * tile_lanes + lane);
      if constexpr (Ahead) prefetch<4 * C * simd::width>(lanes);
      simd::i packed[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) packed[c] = simd::load_bits(lanes + 4 * c * simd::width);
      unpack<0, C>(packed, scale, offset, 8 * eight, use);
    }
  }

  template <int Input, int C, class Use>
  COGEN_INLINE static void unpack(const simd::i (&packed)[C], const vector (&scale)[C], const vector (&offset)[C],
                                  int base, Use use) {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::fma(simd::nibble<Input>(packed[c]), scale[c], offset[c]);
    use(base + Input, w);
    if constexpr (Input < 7) unpack<Input + 1, C>(packed, scale, offset, base, use);
  }
};

// Halves have a scale and a minimum each.
struct q2_weights {
  static constexpr int inputs = quantized_group;
  static constexpr int header = tile_lanes * 4 * 4;
  static constexpr int bytes = header + tile_lanes * quantized_group / 4;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    COGEN_UNROLL
    for (int half = 0; half < 2; ++half) {
      const std::byte* lanes = data + header + 4 * (half * tile_lanes + lane);
      if constexpr (Ahead) {
        prefetch<4 * C * simd::width>(data + 4 * (half * tile_lanes + lane));
        prefetch<4 * C * simd::width>(data + 4 * ((2 + half) * tile_lanes + lane));
        prefetch<4 * C * simd::width>(lanes);
      }
      vector scale[C], offset[C];
      simd::i packed[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        const int at = half * tile_lanes + lane + c * simd::width;
        scale[c] = load_scales<true>(data, at);
        offset[c] = load_scales<true>(data, 2 * tile_lanes + at);
        packed[c] = simd::load_bits(lanes + 4 * c * simd::width);
      }
      unpack<0, C>(packed, scale, offset, 16 * half, use);
    }
  }

 private:
  template <int Input, int C, class Use>
  COGEN_INLINE static void unpack(const simd::i (&packed)[C], const vector (&scale)[C], const vector (&offset)[C],
                                  int base, Use use) {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::fma(simd::two_bits<Input>(packed[c]), scale[c], offset[c]);
    use(base + Input, w);
    if constexpr (Input < 15) unpack<Input + 1, C>(packed, scale, offset, base, use);
  }
};

// Four inputs as biased bytes. Centred: the bias comes off a value before it meets its scale, in which the product
// could be inexact.
template <bool Centred, int C, int Input = 0, class Use>
COGEN_INLINE void use_bytes(const simd::i (&packed)[C], const vector (&scale)[C], const vector (&offset)[C], int base,
                            Use use) {
  vector w[C];
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    vector value = simd::byte<Input>(packed[c]);
    if constexpr (Centred) {
      const vector one = simd::set(1.0F);
      value = simd::fma(value, simd::byte_scale(one), simd::byte_offset(one));
    }
    w[c] = simd::fma(value, scale[c], offset[c]);
  }
  use(base + Input, w);
  if constexpr (Input < 3) use_bytes<Centred, C, Input + 1>(packed, scale, offset, base, use);
}

// 4-bit values that stand for bytes.
template <bool Wide>
struct nonlinear_weights {
  static constexpr int inputs = quantized_group;
  static constexpr int scale_bytes = Wide ? 4 : 2;
  static constexpr int header = tile_lanes * scale_bytes;
  static constexpr int bytes = header + tile_lanes * quantized_group / 2;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    vector scale[C], offset[C];
    if constexpr (Ahead) prefetch<scale_bytes * C * simd::width>(data + scale_bytes * lane);
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const vector stored = load_scales<Wide>(data, lane + c * simd::width);
      scale[c] = Wide ? stored : simd::byte_scale(stored);
      offset[c] = Wide ? simd::zero() : simd::byte_offset(stored);
    }
    for (int eight = 0; eight < 4; ++eight) {
      const std::byte* lanes = data + header + 4 * (eight * tile_lanes + lane);
      if constexpr (Ahead) prefetch<4 * C * simd::width>(lanes);
      simd::i packed[C], four[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) packed[c] = simd::load_bits(lanes + 4 * c * simd::width);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) four[c] = simd::nonlinear_low(packed[c]);
      use_bytes<Wide, C>(four, scale, offset, 8 * eight, use);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) four[c] = simd::nonlinear_high(packed[c]);
      use_bytes<Wide, C>(four, scale, offset, 8 * eight + 4, use);
    }
  }
};

// With halves the first 16 inputs have one scale and the others another.
template <bool Minimum, bool Wide = false, bool Halves = false>
struct q8_weights {
  static constexpr int inputs = quantized_group;
  static constexpr int scale_bytes = Wide ? 4 : 2;
  static constexpr int header = tile_lanes * scale_bytes * (Minimum || Halves ? 2 : 1);
  static constexpr int bytes = header + tile_lanes * quantized_group;

  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    if constexpr (Ahead) {
      prefetch<scale_bytes * C * simd::width>(data + scale_bytes * lane);
      if constexpr (Minimum || Halves)
        prefetch<scale_bytes * C * simd::width>(data + scale_bytes * (tile_lanes + lane));
    }
    part<C, Ahead>(data, lane, 0, Halves ? 4 : 8, use);
    if constexpr (Halves) part<C, Ahead>(data, lane, 4, 8, use);
  }

 private:
  static constexpr bool centred = Minimum || Halves;

  // Fours of inputs that share their scales.
  template <int C, bool Ahead, class Use>
  COGEN_INLINE static void part(const std::byte* data, int lane, int first, int last, Use use) {
    vector scale[C], offset[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const int at = lane + c * simd::width;
      const vector stored = load_scales<Wide>(data, Halves && first > 0 ? tile_lanes + at : at);
      scale[c] = centred ? stored : simd::byte_scale(stored);
      offset[c] = Minimum  ? load_scales<Wide>(data, tile_lanes + at)
                  : Halves ? simd::zero()
                           : simd::byte_offset(stored);
    }
    for (int four = first; four < last; ++four) {
      const std::byte* lanes = data + header + 4 * (four * tile_lanes + lane);
      if constexpr (Ahead) prefetch<4 * C * simd::width>(lanes);
      simd::i packed[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) packed[c] = simd::load_bits(lanes + 4 * c * simd::width);
      use_bytes<centred, C>(packed, scale, offset, 4 * four, use);
    }
  }
};

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
  COGEN_INLINE void load(const float* from, std::int64_t stride) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = simd::load(from + m * stride + c * simd::width);
    }
  }
  COGEN_INLINE void store(float* to, std::int64_t stride) const {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) simd::store(to + m * stride + c * simd::width, sum[m][c]);
    }
  }
  COGEN_INLINE void add(const input_rows<float, M>& x, int at, const vector (&w)[C]) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const vector value = simd::set(x[m][at]);
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
    const int at = lane + c * simd::width;
    const int live = job.last_lane - at;
    if (live <= 0) return;
    const vector bias = job.bias ? simd::load_first(job.bias + at, live) : simd::zero();
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      float* y = job.y + (row + m) * job.y_stride + at;
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
  const std::byte* data = job.tile;
  input_rows<float, M> x(job.x, job.x_stride);
  for (std::int64_t input = 0; input < job.inputs; input += Weights::inputs, data += Weights::bytes) {
    const auto left = static_cast<int>(job.inputs - input < Weights::inputs ? job.inputs - input : Weights::inputs);
    Weights::template group<C, true>(
        data, lane, left, [&](int at, const vector(&w)[C]) __attribute__((always_inline)) { total.add(x, at, w); });
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
  const std::byte* data = step.job.tile + step.first / Weights::inputs * Weights::bytes;
  for (std::int64_t input = step.first; input < step.last; input += Weights::inputs, data += Weights::bytes) {
    const auto left = static_cast<int>(step.last - input < Weights::inputs ? step.last - input : Weights::inputs);
    float* to = panel + (input - step.first) * step.stride;
    for (int lane = 0; lane < step.lanes; lane += C * simd::width) {
      const auto store = [&](int at, const vector(&w)[C]) __attribute__((always_inline)) {
        COGEN_UNROLL
        for (int c = 0; c < C; ++c) simd::store(to + at * step.stride + lane + c * simd::width, w[c]);
      };
      Weights::template group<C, false>(data, step.lane + lane, left, store);
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
  input_rows<float, M> x(step.job.x + row * step.job.x_stride + step.first, step.job.x_stride);
  const float* panel = step.panel + lane;
  const std::int64_t inputs = step.last - step.first;
  const auto add = [&](int at) __attribute__((always_inline)) {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load(panel + c * simd::width);
    total.add(x, at, w);
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
  if (wide && job.rows <= simd::wide_rows) return multiply_rows<Weights, simd::wide_rows, 4>(job);
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
    case weight_storage::q4:
      return multiply_tile<q4_weights<false>>(job);
    case weight_storage::q4_min:
      return multiply_tile<q4_weights<true>>(job);
    case weight_storage::q8:
      return multiply_tile<q8_weights<false>>(job);
    case weight_storage::q8_min:
      return multiply_tile<q8_weights<true>>(job);
    case weight_storage::q4_wide:
      return multiply_tile<q4_weights<true, true>>(job);
    case weight_storage::q8_wide:
      return multiply_tile<q8_weights<true, true>>(job);
    case weight_storage::q8_halves:
      return multiply_tile<q8_weights<false, true, true>>(job);
    case weight_storage::q4_halves:
      return multiply_tile<q4_weights<false, true, true>>(job);
    case weight_storage::q2_halves:
      return multiply_tile<q2_weights>(job);
    case weight_storage::q4_nonlinear:
      return multiply_tile<nonlinear_weights<false>>(job);
    case weight_storage::q4_nonlinear_wide:
      return multiply_tile<nonlinear_weights<true>>(job);
  }
}

}  // namespace
}  // namespace cogen::kernels
