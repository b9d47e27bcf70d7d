#pragma once

#include "network/kernels/dots.hpp"
#include "network/kernels/input_rows.hpp"
#include "network/kernels/int8_table.hpp"
#include "network/kernels/quantized_groups.hpp"

#include <cstddef>
#include <cstdint>

// Products of activations in 8 bits and one tile of quantized weights. A group of 32 inputs (or each half of it that
// has its own scale) is summed in integers; the sum times the activations' scale, rounded, times the weights' is added
// to the output, then each minimum times the sum of its inputs, group after group: the same bits whichever path
// and instruction set computes it.
namespace cogen::kernels {
namespace {

// Each weights class is a group of some weights, from one lane on: it says what scales and minima vector c of outputs
// has, and calls use(quad, w) with four bytes a lane for C vectors of them, for each quad of inputs in order. Those
// that were used are then in what seen() returns, to be read in any order.

template <int C>
struct kept_quads {
  COGEN_INLINE void keep(int quad, const dots::i (&w)[C]) { __builtin_memcpy(quads[quad], w, sizeof w); }
  COGEN_INLINE dots::i load(std::size_t outlier, int c) const {
    return simd::load_bits(reinterpret_cast<const std::byte*>(&quads[0][c]) + outlier * C / 2);
  }

  dots::i quads[quads_in_group][C];
};

// A panel has them already.
template <int C>
struct panel_quads {
  COGEN_INLINE void keep(int, const dots::i (&)[C]) {}
  COGEN_INLINE dots::i load(std::size_t outlier, int c) const {
    return simd::load_bits(quads + outlier + 4 * c * simd::width);
  }

  const std::byte* quads;
};

// The sum of a part's codes, or of all.
template <int Parts>
COGEN_INLINE std::int32_t sum_of_codes(const activation_group& x, int part) {
  return (sum_start - x.starts[Parts == 1 ? 1 : 2 + part]) >> 7;
}

// Where the sum of a part begins, less what its weights' zero owes.
template <int Parts, int Zero>
COGEN_INLINE std::int32_t start_of_part(const activation_group& x, int part) {
  if constexpr (Zero == 0) return sum_start;
  if constexpr (Parts == 1 && Zero == 8) return x.starts[0];
  if constexpr (Parts == 1 && Zero == 128) return x.starts[1];
  return sum_start - Zero * sum_of_codes<Parts>(x, part);
}

// Weights as tiles hold them.
template <class Quantized>
struct summed_weights : Quantized {
  using Quantized::minimum;
  using Quantized::parts;
  using Quantized::Quantized;
  using values = typename Quantized::values;
  static constexpr int zero = values::zero;
  static constexpr bool whole_bytes = values::bits == 8;
  using sums = dots::sums_of<values::sum_bits>;

  template <int C>
  COGEN_INLINE kept_quads<C> seen() const {
    return {};
  }
};

// A group as a panel holds it, for some lanes: scales and minima in float32, a byte for each weight. Formats share it
// where their products are the same.
template <int Parts, bool Minimum, int Zero, class Sums>
struct panel_group {
  using sums = Sums;
  static constexpr bool minimum = Minimum;
  static constexpr int parts = Parts;
  static constexpr int zero = Zero;
  static constexpr int header = panel_lanes * Parts * (Minimum ? 2 : 1) * 4;
  static constexpr int bytes = header + panel_lanes * quantized_group;

  COGEN_INLINE void advance() { data += bytes; }
  template <int C>
  COGEN_INLINE panel_quads<C> seen() const {
    return {values()};
  }
  COGEN_INLINE dots::f scale(int c, int part) const { return simd::load(field(part) + c * simd::width); }
  COGEN_INLINE dots::f least(int c, int part) const { return scale(c, Parts + part); }

  template <int C, class Use>
  COGEN_INLINE void quads(int part, Use use) const {
    COGEN_UNROLL
    for (int index = 0; index < quads_in_group / Parts; ++index) {
      const int quad = part * quads_in_group / Parts + index;
      dots::i w[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) w[c] = simd::load_bits(values() + 4 * (quad * panel_lanes + c * simd::width));
      use(quad, w);
    }
  }

  // Scales of the first part, of the second, and minima likewise.
  COGEN_INLINE float* field(int index) const { return reinterpret_cast<float*>(data) + index * panel_lanes; }
  COGEN_INLINE std::byte* values() const { return data + header; }

  std::byte* data;
};

template <class Packed>
using panel_of = panel_group<Packed::parts, Packed::minimum, Packed::zero, typename Packed::sums>;

// Groups of a tile to a panel.
template <class Packed>
void unpack(Packed packed, panel_of<Packed> panel, std::int64_t groups) {
  constexpr int vectors = panel_lanes / simd::width;
  for (; groups > 0; --groups, packed.advance(), panel.advance()) {
    COGEN_UNROLL
    for (int part = 0; part < Packed::parts; ++part) {
      COGEN_UNROLL
      for (int c = 0; c < vectors; ++c) {
        simd::store(panel.field(part) + c * simd::width, packed.scale(c, part));
        if constexpr (Packed::minimum)
          simd::store(panel.field(Packed::parts + part) + c * simd::width, packed.least(c, part));
      }
      packed.template quads<vectors>(
          part, [&](int quad, const dots::i(&w)[vectors]) __attribute__((always_inline)) {
            __builtin_memcpy(panel.values() + 4 * quad * panel_lanes, w, sizeof w);
          });
    }
  }
}

// The current group of M rows.
template <int M>
using activation_rows = input_rows<activation_group, M>;

// Fetches the tile to come into the second-level cache, some of it with each group that a register tile multiplies.
struct int8_fetch {
  const std::byte* next;
  int step;  // bytes, for each row

  COGEN_INLINE void fetch(int rows) {
    for (int byte = 0; byte < step * rows; byte += 64) __builtin_prefetch(next + byte, 0, 2);
    next += step * rows;
  }
};

// What register tiles work on: some groups of some lanes of a tile, and all rows.
struct int8_span {
  const int8_job& job;
  int lane;
  std::int64_t first;  // groups
  std::int64_t last;
  float* sums;  // [rows, panel_lanes] between spans, where there are several
  int8_fetch& ahead;
};

template <int M, int C>
struct int8_sums {
  dots::f sum[M][C];

  COGEN_INLINE void begin(const int8_span& span, std::int64_t row) {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c)
        sum[m][c] = span.first == 0 ? simd::zero() : simd::load(span.sums + (row + m) * panel_lanes + c * simd::width);
    }
  }
  COGEN_INLINE void end(const int8_span& span, std::int64_t row) const {
    span.last == span.job.inputs / quantized_group ? finish(span.job, span.lane, row) : keep(span, row);
  }

 private:
  COGEN_INLINE void keep(const int8_span& span, std::int64_t row) const {
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) simd::store(span.sums + (row + m) * panel_lanes + c * simd::width, sum[m][c]);
    }
  }
  COGEN_INLINE void finish(const int8_job& job, int lane, std::int64_t row) const {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const int column = lane + c * simd::width;
      const int live = job.last_lane - column;
      if (live <= 0) return;
      const dots::f bias = job.bias ? simd::load_first(job.bias + column, live) : simd::zero();
      COGEN_UNROLL
      for (int m = 0; m < M; ++m) {
        float* y = job.y[row + m] + column;
        dots::f value = job.bias ? simd::add(sum[m][c], bias) : sum[m][c];
        if (job.add_to_y) value = simd::add(value, simd::load_first(y, live));
        simd::store_first(y, value, live);
      }
    }
  }
};

// What a part adds for the outlier: codes of one of its quads, zeros where another part has the outlier.
template <int Parts>
struct outlier_of_part {
  static constexpr std::uint32_t bytes = quads_in_group / Parts * panel_quad_bytes;

  COGEN_INLINE static std::size_t offset(const activation_group& x, int part) {
    return Parts == 1 ? x.outlier_at : static_cast<std::size_t>(part) * bytes + x.outlier_at % bytes;
  }
  COGEN_INLINE static dots::i codes(const activation_group& x, int part) {
    static constexpr std::int8_t none[4] = {};
    return dots::four(Parts == 1 || x.outlier_at / bytes == static_cast<std::uint32_t>(part) ? x.outlier : none);
  }
};

// Sums of integers, counted from sum_start, of one group's part that shares its scales, times both scales.
template <class Weights, int M, int C>
COGEN_INLINE void scale_part(const Weights& weights, int part, const activation_rows<M>& x, const dots::i (&sum)[M][C],
                             int8_sums<M, C>& total) {
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const dots::f scale = weights.scale(c, part);
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const dots::f value = dots::fma(simd::from_bits(sum[m][c]), simd::set(x[m]->scale), simd::set(x[m]->offset));
      total.sum[m][c] = dots::fma(value, scale, total.sum[m][c]);
    }
  }
}

template <class Weights, int M, int C>
COGEN_INLINE void add_part(const Weights& weights, int part, const activation_rows<M>& x, int8_sums<M, C>& total) {
  using integers = typename Weights::sums;
  dots::i sum[M][C];
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) sum[m][c] = integers::begin(start_of_part<Weights::parts, Weights::zero>(*x[m], part));
  }
  auto seen = weights.template seen<C>();
  weights.template quads<C>(
      part, [&](int quad, const dots::i(&w)[C]) __attribute__((always_inline)) {
        seen.keep(quad, w);
        COGEN_UNROLL
        for (int m = 0; m < M; ++m) {
          const dots::i codes = dots::four(x[m]->codes + 4 * quad);
          COGEN_UNROLL
          for (int c = 0; c < C; ++c) sum[m][c] = integers::add(sum[m][c], w[c], codes);
        }
      });
  using outlier = outlier_of_part<Weights::parts>;
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    const std::size_t offset = outlier::offset(*x[m], part);
    const dots::i codes = outlier::codes(*x[m], part);
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) sum[m][c] = integers::add(sum[m][c], seen.load(offset, c), codes);
  }
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c)
      sum[m][c] = integers::finish(sum[m][c], start_of_part<Weights::parts, Weights::zero>(*x[m], part));
  }
  scale_part(weights, part, x, sum, total);
}

// The sum of a part's inputs.
template <int Parts>
COGEN_INLINE float scaled_sum(const activation_group& x, int part) {
  return Parts == 1 ? x.scaled_sum : x.scale * static_cast<float>(sum_of_codes<Parts>(x, part));
}

template <class Weights, int M, int C>
COGEN_INLINE void add_minimum(const Weights& weights, int part, const activation_rows<M>& x, int8_sums<M, C>& total) {
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const dots::f least = weights.least(c, part);
    COGEN_UNROLL
    for (int m = 0; m < M; ++m)
      total.sum[m][c] = dots::fma(least, simd::set(scaled_sum<Weights::parts>(*x[m], part)), total.sum[m][c]);
  }
}

template <class Weights, int M, int C>
COGEN_INLINE void add_minima(const Weights& weights, const activation_rows<M>& x, int8_sums<M, C>& total) {
  if constexpr (Weights::minimum) add_minimum(weights, 0, x, total);
  if constexpr (Weights::minimum && Weights::parts == 2) add_minimum(weights, 1, x, total);
}

// The first groups of a span, of M rows from one on.
template <int M>
COGEN_INLINE activation_rows<M> rows_of(const int8_span& span, std::int64_t row) {
  const auto* first = reinterpret_cast<const activation_group*>(span.job.x[row]);
  return activation_rows<M>({first + span.first, span.job.x.stride / std::int64_t{sizeof(activation_group)}});
}

// M rows and C vectors of outputs. Inlined, it would share its registers with the loop over rows.
template <int M, int C, class Weights>
[[gnu::noinline]] void multiply_groups(const int8_span& span, Weights weights, std::int64_t row) {
  int8_sums<M, C> total;
  total.begin(span, row);
  int8_fetch ahead = span.ahead;
  activation_rows<M> x = rows_of<M>(span, row);
  for (std::int64_t group = span.first; group < span.last; ++group, weights.advance(), x.advance(1)) {
    ahead.fetch(M);
    add_part(weights, 0, x, total);
    if constexpr (Weights::parts == 2) add_part(weights, 1, x, total);
    add_minima(weights, x, total);
  }
  span.ahead = ahead;
  total.end(span, row);
}

template <int M, int C, class Weights>
COGEN_INLINE void multiply_block(const int8_span& span, const Weights& weights, std::int64_t row, std::int64_t rows) {
  if constexpr (M > 1)
    if (rows < M) return multiply_block<M - 1, C>(span, weights, row, rows);
  multiply_groups<M, C>(span, weights, row);
}

// All rows, in blocks of nearly equal size.
template <int Rows, int C, class Weights>
void multiply_blocks(const int8_span& span, const Weights& weights) {
  const std::int64_t rows = span.job.rows;
  const std::int64_t blocks = (rows + Rows - 1) / Rows;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t row = rows * block / blocks;
    multiply_block<Rows, C>(span, weights, row, rows * (block + 1) / blocks - row);
  }
}

template <class Packed>
int8_fetch fetch_of(const int8_job& job, int lanes) {
  const int columns = (job.last_lane - job.first_lane + lanes - 1) / lanes;
  return {job.tile + job.ahead, Packed::bytes / (static_cast<int>(job.rows) * columns) + 1};
}

// Few rows, which take no second look at any weight.
template <class Packed, int Rows, int C>
void multiply_once(const int8_job& job) {
  int8_fetch ahead = fetch_of<Packed>(job, C * simd::width);
  for (int lane = job.first_lane; lane < job.last_lane; lane += C * simd::width) {
    const Packed weights(job.tile, lane, 0);
    multiply_block<Rows, C>({job, lane, 0, job.inputs / quantized_group, nullptr, ahead}, weights, 0, job.rows);
  }
}

constexpr int panel_groups = 20;  // 25 KiB, which stay in the first-level cache

// Some groups at a time of all rows; weights that take unpacking are unpacked once for all of them.
template <class Packed>
void multiply_by_spans(const int8_job& job) {
  using panel = panel_of<Packed>;
  alignas(64) std::byte unpacked[panel_groups * panel::bytes];
  alignas(64) float sums[max_int8_rows * panel_lanes];
  int8_fetch ahead = fetch_of<Packed>(job, panel_lanes);
  const std::int64_t groups = job.inputs / quantized_group;
  const std::int64_t spans = (groups + panel_groups - 1) / panel_groups;
  for (int lane = job.first_lane; lane < job.last_lane; lane += panel_lanes)
    for (std::int64_t index = 0; index < spans; ++index) {
      const int8_span span{job, lane, groups * index / spans, groups * (index + 1) / spans, sums, ahead};
      const Packed weights(job.tile, lane, span.first);
      if constexpr (Packed::whole_bytes) {
        multiply_blocks<dots::narrow_rows, 2>(span, weights);
      } else {
        unpack(weights, panel{unpacked}, span.last - span.first);
        multiply_blocks<dots::narrow_rows, 2>(span, panel{unpacked});
      }
    }
}

// A single row, which reads a tile in order and as fast as memory gives it, if each line is fetched just before. Whole
// tiles fetched far ahead are a fifth slower with 4 bits, and a third with 8.
template <class Streamed>
void multiply_row(const int8_job& job) {
  int8_fetch none{nullptr, 0};
  const int8_span span{job, 0, 0, job.inputs / quantized_group, nullptr, none};
  multiply_groups<1, 4>(span, Streamed(job.tile, 0, 0), 0);
}

template <class Packed>
void multiply_int8_tile(const int8_job& job) {
  const bool wide = job.last_lane - job.first_lane > 2 * simd::width;
  if constexpr (4 * simd::width == tile_lanes)
    if (wide && job.rows == 1) return multiply_row<summed_weights<typename Packed::streamed>>(job);
  if (wide && job.rows <= dots::wide_rows) return multiply_once<Packed, dots::wide_rows, 4>(job);
  if (job.rows <= dots::narrow_rows) return multiply_once<Packed, dots::narrow_rows, 2>(job);
  multiply_by_spans<Packed>(job);
}

void multiply_int8(const int8_job& job) {
  with_quantized_weights(
      job.storage, [&](auto weights) { multiply_int8_tile<summed_weights<typename decltype(weights)::type>>(job); });
}

}  // namespace
}  // namespace cogen::kernels
