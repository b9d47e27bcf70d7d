#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

// Products of activations and one tile of packed weights. Every output is one chain of multiply-adds over ascending
// inputs, whichever path computes it.
namespace cogen::kernels {
namespace {

using vector = simd::f;

constexpr std::int64_t prefetch_ahead = 4096;

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
  template <int C, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    const auto* from = reinterpret_cast<const float*>(data) + lane;
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load(from + c * simd::width);
    use(0, w);
  }
};

struct f16_weights {
  static constexpr int inputs = 1;
  static constexpr int bytes = tile_lanes * 2;
  template <int C, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) w[c] = simd::load_f16(data + 2 * (lane + c * simd::width));
    use(0, w);
  }
};

struct bf16_weights {
  static constexpr int inputs = 2;
  static constexpr int bytes = tile_lanes * 4;
  template <int C, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int count, Use use) {
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

template <bool Minimum>
struct q4_weights {
  static constexpr int inputs = quantised_group;
  static constexpr int header = tile_lanes * (Minimum ? 4 : 2);
  static constexpr int bytes = header + tile_lanes * quantised_group / 2;

  template <int C, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    vector scale[C], offset[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const std::byte* at = data + 2 * (lane + c * simd::width);
      scale[c] = simd::load_f16(at);
      offset[c] = Minimum ? simd::load_f16(at + 2 * tile_lanes) : simd::mul(scale[c], simd::set(-8.0F));
    }
    for (int eight = 0; eight < 4; ++eight) {
      simd::i packed[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c)
        packed[c] = simd::load_bits(data + header + 4 * (eight * tile_lanes + lane + c * simd::width));
      unpack<0, C>(packed, scale, offset, 8 * eight, use);
    }
  }

 private:
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

template <bool Minimum>
struct q8_weights {
  static constexpr int inputs = quantised_group;
  static constexpr int header = tile_lanes * (Minimum ? 4 : 2);
  static constexpr int bytes = header + tile_lanes * quantised_group;

  template <int C, class Use>
  COGEN_INLINE static void group(const std::byte* data, int lane, int, Use use) {
    vector scale[C], offset[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const std::byte* at = data + 2 * (lane + c * simd::width);
      const vector stored = simd::load_f16(at);
      scale[c] = Minimum ? stored : simd::byte_scale(stored);
      offset[c] = Minimum ? simd::load_f16(at + 2 * tile_lanes) : simd::byte_offset(stored);
    }
    for (int four = 0; four < 8; ++four) {
      simd::i packed[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c)
        packed[c] = simd::load_bits(data + header + 4 * (four * tile_lanes + lane + c * simd::width));
      unpack<0, C>(packed, scale, offset, 4 * four, use);
    }
  }

 private:
  template <int Input, int C, class Use>
  COGEN_INLINE static void unpack(const simd::i (&packed)[C], const vector (&scale)[C], const vector (&offset)[C],
                                  int base, Use use) {
    vector w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      vector value = simd::byte<Input>(packed[c]);
      if constexpr (Minimum) {
        const vector one = simd::set(1.0F);
        value = simd::fma(value, simd::byte_scale(one), simd::byte_offset(one));
      }
      w[c] = simd::fma(value, scale[c], offset[c]);
    }
    use(base + Input, w);
    if constexpr (Input < 3) unpack<Input + 1, C>(packed, scale, offset, base, use);
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
  COGEN_INLINE void add(const float* x, std::int64_t stride, const vector (&w)[C]) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const vector value = simd::set(x[m * stride]);
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

// M rows and C vectors of outputs, dequantising in registers.
template <class Weights, int M, int C>
void multiply(const linear_job& job, int lane, std::int64_t row) {
  accumulators<M, C> total;
  total.clear();
  const std::byte* data = job.tile;
  const float* x = job.x + row * job.x_stride;
  for (std::int64_t input = 0; input < job.inputs; input += Weights::inputs, data += Weights::bytes) {
    if constexpr (M <= simd::wide_rows) prefetch<Weights::bytes>(data);
    const auto left = static_cast<int>(job.inputs - input < Weights::inputs ? job.inputs - input : Weights::inputs);
    Weights::template group<C>(
        data, lane, left, [&](int at, const vector(&w)[C]) __attribute__((always_inline)) {
          total.add(x + input + at, job.x_stride, w);
        });
  }
  finish(total, job, lane, row);
}

template <class Weights, int C, int M>
COGEN_INLINE void multiply_rows(const linear_job& job, int lane, std::int64_t row, std::int64_t rows) {
  if (rows == M) return multiply<Weights, M, C>(job, lane, row);
  if constexpr (M > 1) multiply_rows<Weights, C, M - 1>(job, lane, row, rows);
}

template <class Weights, int C, int Rows>
void multiply_lanes(const linear_job& job) {
  for (int lane = job.first_lane; lane < job.last_lane; lane += C * simd::width)
    multiply_rows<Weights, C, Rows>(job, lane, 0, job.rows);
}

constexpr int panel_lanes = 32;
constexpr int panel_inputs = 128;

// Weights of 32 outputs and some inputs, dequantised once for all rows: [inputs][32].
template <class Weights>
void fill_panel(const linear_job& job, int lane, std::int64_t first, std::int64_t last, float* panel) {
  const std::byte* data = job.tile + first / Weights::inputs * Weights::bytes;
  for (std::int64_t input = first; input < last; input += Weights::inputs, data += Weights::bytes) {
    const auto left = static_cast<int>(last - input < Weights::inputs ? last - input : Weights::inputs);
    float* to = panel + (input - first) * panel_lanes;
    for (int half = 0; half < panel_lanes; half += 2 * simd::width)
      Weights::template group<2>(
          data, lane + half, left, [&](int at, const vector(&w)[2]) __attribute__((always_inline)) {
            simd::store(to + at * panel_lanes + half, w[0]);
            simd::store(to + at * panel_lanes + half + simd::width, w[1]);
          });
  }
}

struct panel_step {
  const linear_job& job;
  const float* panel;  // [last - first] inputs of 32 outputs
  std::int64_t panel_stride;
  float* sums;  // [rows][32]
  int lane;     // of the panel's first output
  std::int64_t first;
  std::int64_t last;
};

template <int M>
void multiply_panel(const panel_step& step, int offset, std::int64_t row) {
  accumulators<M, 2> total;
  float* sums = step.sums + row * panel_lanes + offset;
  if (step.first == 0)
    total.clear();
  else
    total.load(sums, panel_lanes);
  const float* x = step.job.x + row * step.job.x_stride + step.first;
  const float* panel = step.panel + offset;
  const std::int64_t inputs = step.last - step.first;
#pragma clang loop unroll_count(4)
  for (std::int64_t input = 0; input < inputs; ++input) {
    const vector w[2] = {simd::load(panel), simd::load(panel + simd::width)};
    total.add(x + input, step.job.x_stride, w);
    panel += step.panel_stride;
  }
  if (step.last == step.job.inputs)
    finish(total, step.job, step.lane + offset, row);
  else
    total.store(sums, panel_lanes);
}

template <int M>
COGEN_INLINE void multiply_panel_rows(const panel_step& step, int offset, std::int64_t row, std::int64_t rows) {
  if (rows == M) return multiply_panel<M>(step, offset, row);
  if constexpr (M > simd::narrow_rows / 2) multiply_panel_rows<M - 1>(step, offset, row, rows);
}

// All rows (more than the register tile holds), in blocks of nearly equal size: at least half of what it holds.
void multiply_panel_blocks(const panel_step& step) {
  const std::int64_t rows = step.job.rows;
  const std::int64_t blocks = (rows + simd::narrow_rows - 1) / simd::narrow_rows;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t row = rows * block / blocks;
    const std::int64_t end = rows * (block + 1) / blocks;
    for (int offset = 0; offset < panel_lanes; offset += 2 * simd::width)
      multiply_panel_rows<simd::narrow_rows>(step, offset, row, end - row);
  }
}

template <class Weights>
void multiply_by_panels(const linear_job& job) {
  alignas(64) float panel[panel_inputs * panel_lanes];
  alignas(64) float sums[max_linear_rows * panel_lanes];
  for (int lane = job.first_lane; lane < job.last_lane; lane += panel_lanes)
    for (std::int64_t first = 0; first < job.inputs; first += panel_inputs) {
      const std::int64_t last = first + panel_inputs < job.inputs ? first + panel_inputs : job.inputs;
      fill_panel<Weights>(job, lane, first, last, panel);
      multiply_panel_blocks({job, panel, panel_lanes, sums, lane, first, last});
    }
}

template <class Weights>
void multiply_tile(const linear_job& job) {
  const bool wide = (job.last_lane - job.first_lane) > 2 * simd::width && job.rows <= simd::wide_rows;
  if (wide)
    multiply_lanes<Weights, 4, simd::wide_rows>(job);
  else if (job.rows <= simd::narrow_rows)
    multiply_lanes<Weights, 2, simd::narrow_rows>(job);
  else
    multiply_by_panels<Weights>(job);
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
  }
}

}  // namespace
}  // namespace cogen::kernels
