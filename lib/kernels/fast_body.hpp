#pragma once

#include "kernels/dots.hpp"
#include "kernels/fast_table.hpp"

#include <cstddef>
#include <cstdint>

// Products of activations in 8 bits and one tile of quantised weights. A group of 32 inputs (or each half of it that
// has its own scale) is summed in integers; the sum, as a number, times the product of both scales is added to the
// output, then the group's minimum times the sum of its inputs, group after group: the same bits whichever path and
// instruction set computes it.
namespace cogen::kernels {
namespace {

constexpr int quads_in_group = quantised_group / 4;

// Fetches some lines into the second-level cache: those of the tile to come that are where these are in this one. A
// whole tile is far enough ahead for memory, also where a narrow register tile goes over it four times.
template <int Bytes>
COGEN_INLINE void fetch(const std::byte* address) {
  COGEN_UNROLL
  for (int line = 0; line < Bytes; line += 64) __builtin_prefetch(address + line, 0, 2);
}

// Each weights class says where a group's scales and minima are, and calls use(quad, w) with four bytes a lane for C
// vectors of outputs from `lane` on, for each quad of inputs in order.

// Scales, then minima, of 16 bits or wide ones of 32; where a group has two parts, of 16 inputs, the scales of each.
template <bool Minimum, bool Wide, int Parts>
struct group_header {
  static constexpr bool minimum = Minimum;
  static constexpr int parts = Parts;
  static constexpr int scale_bytes = Wide ? 4 : 2;
  static constexpr int fields = Parts + (Minimum ? 1 : 0);
  static constexpr int header = tile_lanes * fields * scale_bytes;

  COGEN_INLINE static dots::f scale(const std::byte* data, int lane, int part) {
    const std::byte* at = data + scale_bytes * (part * tile_lanes + lane);
    if constexpr (Wide)
      return simd::load(reinterpret_cast<const float*>(at));
    else
      return simd::load_f16(at);
  }
  COGEN_INLINE static dots::f least(const std::byte* data, int lane) { return scale(data, lane, Parts); }
  template <int C>
  COGEN_INLINE static void fetch_header(const std::byte* data, int lane) {
    COGEN_UNROLL
    for (int field = 0; field < fields; ++field)
      fetch<scale_bytes * C * simd::width>(data + scale_bytes * (field * tile_lanes + lane));
  }
};

template <bool Minimum, bool Wide = false>
struct nibble_group : group_header<Minimum, Wide, 1> {
  using head = group_header<Minimum, Wide, 1>;
  using sums = dots::nibbles;
  static constexpr bool whole_bytes = false;
  static constexpr int bytes = head::header + tile_lanes * quantised_group / 2;

  COGEN_INLINE static std::int32_t correction(const activation_group& x, int) { return Minimum ? 0 : x.minus_8; }

  template <int C, class Use>
  COGEN_INLINE static void quads(const std::byte* data, int lane, [[maybe_unused]] int part, std::int64_t ahead,
                                 Use use) {
    head::template fetch_header<C>(data + ahead, lane);
    COGEN_UNROLL
    for (int eight = 0; eight < quads_in_group / 2; ++eight) {
      const std::byte* lanes = data + head::header + 4 * (eight * tile_lanes + lane);
      fetch<4 * C * simd::width>(lanes + ahead);
      dots::i packed[C], w[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) packed[c] = simd::load_bits(lanes + 4 * c * simd::width);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) w[c] = dots::low(packed[c]);
      use(2 * eight, w);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) w[c] = dots::high(packed[c]);
      use(2 * eight + 1, w);
    }
  }
};

template <bool Minimum, bool Wide = false, int Parts = 1>
struct byte_group : group_header<Minimum, Wide, Parts> {
  using head = group_header<Minimum, Wide, Parts>;
  using sums = dots::bytes;
  static constexpr bool whole_bytes = true;
  static constexpr int bytes = head::header + tile_lanes * quantised_group;

  COGEN_INLINE static std::int32_t correction(const activation_group& x, int part) {
    return Parts == 1 ? x.minus_128 : x.minus_128_of_half[part];
  }

  template <int C, class Use>
  COGEN_INLINE static void quads(const std::byte* data, int lane, [[maybe_unused]] int part, std::int64_t ahead,
                                 Use use) {
    if (part == 0) head::template fetch_header<C>(data + ahead, lane);
    COGEN_UNROLL
    for (int at = 0; at < quads_in_group / Parts; ++at) {
      const int quad = part * quads_in_group / Parts + at;
      const std::byte* lanes = data + head::header + 4 * (quad * tile_lanes + lane);
      fetch<4 * C * simd::width>(lanes + ahead);
      dots::i w[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) w[c] = simd::load_bits(lanes + 4 * c * simd::width);
      use(quad, w);
    }
  }
};

// A group as a panel holds it: scales and minima in float32, a byte for each weight.
template <class Packed>
struct panel_group {
  using sums = typename Packed::sums;
  static constexpr bool minimum = Packed::minimum;
  static constexpr int parts = 1;
  static constexpr int header = tile_lanes * (minimum ? 8 : 4);
  static constexpr int bytes = header + tile_lanes * quantised_group;

  COGEN_INLINE static std::int32_t correction(const activation_group& x, int part) {
    return Packed::correction(x, part);
  }
  COGEN_INLINE static float* scales(std::byte* data) { return reinterpret_cast<float*>(data); }
  COGEN_INLINE static dots::f scale(const std::byte* data, int lane, int) {
    return simd::load(reinterpret_cast<const float*>(data) + lane);
  }
  COGEN_INLINE static dots::f least(const std::byte* data, int lane) { return scale(data, tile_lanes + lane, 0); }

  template <int C, class Use>
  COGEN_INLINE static void quads(const std::byte* data, int lane, int, std::int64_t, Use use) {
    COGEN_UNROLL
    for (int quad = 0; quad < quads_in_group; ++quad) {
      const std::byte* lanes = data + header + 4 * (quad * tile_lanes + lane);
      dots::i w[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) w[c] = simd::load_bits(lanes + 4 * c * simd::width);
      use(quad, w);
    }
  }
};

// The current group of M rows; one pointer serves three of them, see input_rows.
template <int M>
class activation_rows {
 public:
  COGEN_INLINE activation_rows(const std::byte* first, std::int64_t stride) : stride_(stride) {
    COGEN_UNROLL
    for (int i = 0; i < pointers; ++i) at_[i] = first + 3 * i * stride;
    keep_apart();
  }
  COGEN_INLINE const activation_group& operator[](int row) const {
    return *reinterpret_cast<const activation_group*>(at_[row / 3] + row % 3 * stride_);
  }
  COGEN_INLINE void advance() {
    COGEN_UNROLL
    for (int i = 0; i < pointers; ++i) at_[i] += sizeof(activation_group);
    keep_apart();
  }

 private:
  static constexpr int pointers = (M + 2) / 3;

  COGEN_INLINE void keep_apart() {
    COGEN_UNROLL
    for (int i = 0; i < pointers; ++i) asm("" : "+r"(at_[i]));
  }

  const std::byte* at_[pointers];
  std::int64_t stride_;
};

// What a register tile works on: some groups of a tile's or a panel's weights, and of rows.
struct fast_span {
  const fast_job& job;
  const std::byte* weights;  // of the first group
  std::int64_t first;        // groups
  std::int64_t last;
  float* sums;  // [rows, tile_lanes] between spans, where there are several
};

template <int M, int C>
struct fast_sums {
  dots::f sum[M][C];

  COGEN_INLINE void begin(const fast_span& span, int lane, std::int64_t row) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c)
        sum[m][c] =
            span.first == 0 ? simd::zero() : simd::load(span.sums + (row + m) * tile_lanes + lane + c * simd::width);
    }
  }
  COGEN_INLINE void keep(const fast_span& span, int lane, std::int64_t row) const {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) simd::store(span.sums + (row + m) * tile_lanes + lane + c * simd::width, sum[m][c]);
    }
  }
  COGEN_INLINE void finish(const fast_job& job, int lane, std::int64_t row) const {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const int at = lane + c * simd::width;
      const int live = job.last_lane - at;
      if (live <= 0) return;
      const dots::f bias = job.bias ? simd::load_first(job.bias + at, live) : simd::zero();
      COGEN_UNROLL
      for (int m = 0; m < M; ++m) {
        float* y = job.y + (row + m) * job.y_stride + at;
        dots::f value = job.bias ? simd::add(sum[m][c], bias) : sum[m][c];
        if (job.add_to_y) value = simd::add(value, simd::load_first(y, live));
        simd::store_first(y, value, live);
      }
    }
  }
};

// One group's part that shares its scales: its sums of integers, times both scales.
template <class Weights, int M, int C>
COGEN_INLINE void add_part(const std::byte* data, int lane, int part, std::int64_t ahead, const activation_rows<M>& x,
                           fast_sums<M, C>& total) {
  using integers = typename Weights::sums;
  dots::i sum[M][C];
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) sum[m][c] = integers::start(Weights::correction(x[m], part));
  }
  const auto use = [&](int quad, const dots::i(&w)[C]) __attribute__((always_inline)) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const dots::i codes = dots::four(x[m].codes + 4 * quad);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = integers::add(sum[m][c], w[c], codes);
    }
  };
  Weights::template quads<C>(data, lane, part, ahead, use);
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const dots::f scale = Weights::scale(data, lane + c * simd::width, part);
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const dots::f value = dots::number(integers::finish(sum[m][c], Weights::correction(x[m], part)));
      total.sum[m][c] = dots::fma(value, simd::mul(scale, simd::set(x[m].scale)), total.sum[m][c]);
    }
  }
}

template <class Weights, int M, int C>
COGEN_INLINE void add_minimum(const std::byte* data, int lane, const activation_rows<M>& x, fast_sums<M, C>& total) {
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const dots::f least = Weights::least(data, lane + c * simd::width);
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) total.sum[m][c] = dots::fma(least, simd::set(x[m].scaled_sum), total.sum[m][c]);
  }
}

// M rows and C vectors of outputs.
template <class Weights, int M, int C>
void multiply_groups(const fast_span& span, int lane, std::int64_t row) {
  fast_sums<M, C> total;
  total.begin(span, lane, row);
  const std::int64_t before = span.first * static_cast<std::int64_t>(sizeof(activation_group));
  activation_rows<M> x(span.job.x + row * span.job.x_stride + before, span.job.x_stride);
  const std::byte* data = span.weights;
  for (std::int64_t group = span.first; group < span.last; ++group, data += Weights::bytes, x.advance()) {
    add_part<Weights>(data, lane, 0, span.job.ahead, x, total);
    if constexpr (Weights::parts == 2) add_part<Weights>(data, lane, 1, span.job.ahead, x, total);
    if constexpr (Weights::minimum) add_minimum<Weights>(data, lane, x, total);
  }
  if (span.last == span.job.inputs / quantised_group)
    total.finish(span.job, lane, row);
  else
    total.keep(span, lane, row);
}

template <class Weights, int M, int C>
COGEN_INLINE void multiply_block(const fast_span& span, std::int64_t row, std::int64_t rows) {
  if constexpr (M > 1)
    if (rows < M) return multiply_block<Weights, M - 1, C>(span, row, rows);
  for (int lane = span.job.first_lane; lane < span.job.last_lane; lane += C * simd::width)
    multiply_groups<Weights, M, C>(span, lane, row);
}

// All rows, in blocks of nearly equal size.
template <class Weights, int Rows, int C>
void multiply_blocks(const fast_span& span) {
  const std::int64_t rows = span.job.rows;
  const std::int64_t blocks = (rows + Rows - 1) / Rows;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t row = rows * block / blocks;
    multiply_block<Weights, Rows, C>(span, row, rows * (block + 1) / blocks - row);
  }
}

template <class Packed>
void fill_fast_panel(const fast_span& span, const std::byte* packed, std::byte* panel) {
  using unpacked = panel_group<Packed>;
  const fast_job& job = span.job;
  for (std::int64_t group = span.first; group < span.last; ++group, packed += Packed::bytes, panel += unpacked::bytes)
    for (int lane = job.first_lane; lane < job.last_lane; lane += simd::width) {
      simd::store(unpacked::scales(panel) + lane, Packed::scale(packed, lane, 0));
      if constexpr (Packed::minimum)
        simd::store(unpacked::scales(panel) + tile_lanes + lane, Packed::least(packed, lane));
      Packed::template quads<1>(
          packed, lane, 0, job.ahead, [&](int quad, const dots::i(&w)[1]) __attribute__((always_inline)) {
            __builtin_memcpy(panel + unpacked::header + 4 * (quad * tile_lanes + lane), &w[0], sizeof w[0]);
          });
    }
}

constexpr int panel_groups = 10;  // 25 KiB, which stay in the first-level cache

// For many rows of weights that take unpacking: some groups at a time are unpacked once for all of them.
template <class Packed>
void multiply_by_fast_panels(const fast_job& job) {
  alignas(64) std::byte panel[panel_groups * panel_group<Packed>::bytes];
  alignas(64) float sums[max_fast_rows * tile_lanes];
  const std::int64_t groups = job.inputs / quantised_group;
  const std::int64_t panels = (groups + panel_groups - 1) / panel_groups;
  for (std::int64_t at = 0; at < panels; ++at) {
    const fast_span span{job, panel, groups * at / panels, groups * (at + 1) / panels, sums};
    fill_fast_panel<Packed>(span, job.tile + span.first * Packed::bytes, panel);
    multiply_blocks<panel_group<Packed>, dots::panel_rows, 2>(span);
  }
}

template <class Packed>
void multiply_fast_tile(const fast_job& job) {
  const fast_span all{job, job.tile, 0, job.inputs / quantised_group, nullptr};
  const bool wide = job.last_lane - job.first_lane > 2 * simd::width;
  if (wide && job.rows <= dots::wide_rows) return multiply_blocks<Packed, dots::wide_rows, 4>(all);
  if (Packed::whole_bytes || job.rows <= dots::narrow_rows) return multiply_blocks<Packed, dots::narrow_rows, 2>(all);
  if constexpr (!Packed::whole_bytes) {
    if (job.rows <= 3 * dots::tall_rows) return multiply_blocks<Packed, dots::tall_rows, 1>(all);
    multiply_by_fast_panels<Packed>(job);
  }
}

void multiply_fast(const fast_job& job) {
  switch (job.storage) {
    case weight_storage::q4:
      return multiply_fast_tile<nibble_group<false>>(job);
    case weight_storage::q4_min:
      return multiply_fast_tile<nibble_group<true>>(job);
    case weight_storage::q8:
      return multiply_fast_tile<byte_group<false>>(job);
    case weight_storage::q8_min:
      return multiply_fast_tile<byte_group<true>>(job);
    case weight_storage::q4_wide:
      return multiply_fast_tile<nibble_group<true, true>>(job);
    case weight_storage::q8_wide:
      return multiply_fast_tile<byte_group<true, true>>(job);
    case weight_storage::q8_halves:
      return multiply_fast_tile<byte_group<false, true, 2>>(job);
    default:
      return;
  }
}

}  // namespace
}  // namespace cogen::kernels
