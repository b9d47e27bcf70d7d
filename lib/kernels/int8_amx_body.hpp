#pragma once

#include "kernels/int8_body.hpp"
#include "kernels/tile_products.hpp"

#include <cstddef>
#include <cstdint>

// The products of int8_body.hpp, bit for bit, with AMX for the sums of integers of up to 16 rows and two vectors of
// outputs. Some groups at a time: their weights are unpacked once for all rows; then, for some rows, all groups are
// summed and after that scaled.
namespace cogen::kernels {
namespace {

constexpr int tiled_groups = 4;  // so that their panels and sums stay in the first-level cache
constexpr int least_tiled_rows = 8;
constexpr int panel_vectors = panel_lanes / simd::width;

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
std::int64_t divided_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

template <class Packed>
void unpack(const Packed& packed, std::int64_t groups, std::byte* panels) {
  unpacked_group<Packed> weights(packed, panels);
  for (std::int64_t group = 0; group < groups; ++group, weights.advance()) {
    COGEN_UNROLL
    for (int part = 0; part < Packed::parts; ++part) {
      weights.template quads<panel_vectors>(part, [](int, const auto&) __attribute__((always_inline)){});
      COGEN_UNROLL
      for (int c = 0; c < panel_vectors; ++c) {
        weights.scale(c, part);
        if constexpr (Packed::minimum) weights.least(c, part);
      }
    }
  }
}

// Of the rows of a tile, for each part of some groups.
template <int Parts>
using tiled_sums = tile_products::sums[tiled_groups][Parts];

// Of codes alone, without what the outlier has beyond its code.
template <class Panel>
void sum_codes(const tile_products& tiles, const int8_span& span, Panel weights, std::int64_t row,
               tiled_sums<Panel::parts>& sums) {
  constexpr int codes = quantized_group / Panel::parts;
  const std::byte* x = span.job.x + row * span.job.x_stride + span.first * std::int64_t{sizeof(activation_group)};
  for (std::int64_t group = 0; group < span.last - span.first; ++group) {
    COGEN_UNROLL
    for (int part = 0; part < Panel::parts; ++part)
      tiles.multiply({x + part * codes, span.job.x_stride}, weights.values() + part * codes * panel_lanes,
                     sums[group][part]);
    weights.advance();
    x += sizeof(activation_group);
  }
}

// As add_part, from the sums of codes.
template <class Panel, int M>
COGEN_INLINE void add_summed_part(const Panel& weights, int part, const activation_rows<M>& x,
                                  const std::int32_t (*sums)[panel_lanes], int8_sums<M, panel_vectors>& total) {
  using outlier = outlier_of_part<Panel::parts>;
  const auto quads = weights.template seen<panel_vectors>();
  dots::i sum[M][panel_vectors];
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    const std::size_t at = outlier::at(*x[m], part);
    const dots::i codes = outlier::codes(*x[m], part), start = simd::set_bits(Panel::start(*x[m], part));
    COGEN_UNROLL
    for (int c = 0; c < panel_vectors; ++c) {
      const dots::i counted = simd::add_bits(simd::load_bits(sums[m] + c * simd::width), start);
      sum[m][c] = dots::bytes::add(counted, quads.at(at, c), codes);
    }
  }
  scale_part(weights, part, x, sum, total);
}

template <int M, class Panel>
void add_summed_rows(const int8_span& span, Panel weights, std::int64_t row, const std::int32_t (*sums)[panel_lanes]) {
  int8_sums<M, panel_vectors> total;
  total.begin(span, row);
  activation_rows<M> x = rows_of<M>(span, row);
  for (std::int64_t group = span.first; group < span.last; ++group, weights.advance(), x.advance(1)) {
    COGEN_UNROLL
    for (int part = 0; part < Panel::parts; ++part, sums += tile_products::rows)
      add_summed_part(weights, part, x, sums, total);
    add_minima(weights, x, total);
  }
  total.end(span, row);
}

template <int M, class Panel>
void add_summed_rows(const int8_span& span, const Panel& weights, std::int64_t row, std::int64_t rows,
                     const std::int32_t (*sums)[panel_lanes]) {
  for (; rows >= M; row += M, rows -= M, sums += M) add_summed_rows<M>(span, weights, row, sums);
  if constexpr (M > 1)
    if (rows > 0) add_summed_rows<M - 1>(span, weights, row, rows, sums);
}

template <class Packed>
void multiply_by_tiles(const int8_job& job) {
  using panel = panel_group<Packed>;
  constexpr int rows_at_once = 4;
  alignas(64) std::byte panels[tiled_groups * panel::bytes];
  alignas(64) tiled_sums<Packed::parts> summed;
  alignas(64) float sums[max_int8_rows * panel_lanes];
  int8_fetch ahead = fetch_of<Packed>(job, panel_lanes);
  const std::int64_t height = divided_up(job.rows, divided_up(job.rows, tile_products::rows));
  const tile_products tiles(static_cast<int>(height), quads_in_group / Packed::parts);
  const std::int64_t groups = job.inputs / quantized_group;
  for (int lane = job.first_lane; lane < job.last_lane; lane += panel_lanes)
    for (std::int64_t first = 0; first < groups; first += tiled_groups) {
      const int8_span span{job, lane, first, smaller(first + tiled_groups, groups), sums, ahead};
      unpack(Packed(job.tile, lane, first), span.last - first, panels);
      for (std::int64_t done = 0; done < job.rows; done += height) {
        const std::int64_t top = smaller(done, job.rows - height);  // the last rows may be a tile with some before
        ahead.fetch(static_cast<int>(height * (span.last - first)));
        sum_codes(tiles, span, panel{panels}, top, summed);
        add_summed_rows<rows_at_once>(span, panel{panels}, done, top + height - done, summed[0][0] + (done - top));
      }
    }
}

// Few rows are multiplied as without AMX.
void multiply_amx(const int8_job& job, const int8_table& otherwise) {
  if (job.rows < least_tiled_rows) return otherwise.multiply(job);
  with_quantized_weights(
      job.storage, [&](auto weights) { multiply_by_tiles<summed_weights<typename decltype(weights)::type>>(job); });
}

}  // namespace
}  // namespace cogen::kernels
