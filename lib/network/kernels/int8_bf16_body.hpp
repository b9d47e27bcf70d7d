#pragma once

#include "network/kernels/bf16_pairs.hpp"
#include "network/kernels/input_rows.hpp"
#include "network/kernels/int8_table.hpp"
#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

// Products of activations rounded to bf16 and one tile of bf16 weights: one chain of pairs over ascending inputs for
// each output; see bf16_pairs.hpp.
namespace cogen::kernels {
namespace {

constexpr int bf16_rows = 12;

template <int M, int C>
void multiply_pairs(const int8_job& job, int lane, std::int64_t row) {
  simd::f sum[M][C];
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) sum[m][c] = simd::zero();
  }
  input_rows<std::byte, M> x(job.x.rest(row));
  const std::byte* data = job.tile + 4 * lane;
  for (std::int64_t input = 0; input < job.inputs; input += 2, x.advance(4), data += 4 * tile_lanes) {
    simd::i w[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const std::byte* source = data + 4 * c * simd::width;
      __builtin_prefetch(source + 4096);
      w[c] = simd::load_bits(source);
    }
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const simd::i value = bf16_pairs::broadcast(x[m]);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = bf16_pairs::add(sum[m][c], w[c], value);
    }
  }
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const int column = lane + c * simd::width;
    const int live = job.last_lane - column;
    if (live <= 0) return;
    const simd::f bias = job.bias ? simd::load_first(job.bias + column, live) : simd::zero();
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      float* y = job.y[row + m] + column;
      simd::f value = job.bias ? simd::add(sum[m][c], bias) : sum[m][c];
      if (job.add_to_y) value = simd::add(value, simd::load_first(y, live));
      simd::store_first(y, value, live);
    }
  }
}

template <int M, int C>
COGEN_INLINE void multiply_pair_block(const int8_job& job, std::int64_t row, std::int64_t rows) {
  if constexpr (M > 1)
    if (rows < M) return multiply_pair_block<M - 1, C>(job, row, rows);
  for (int lane = job.first_lane; lane < job.last_lane; lane += C * simd::width) multiply_pairs<M, C>(job, lane, row);
}

void multiply_bf16(const int8_job& job) {
  const bool wide = job.last_lane - job.first_lane > 2 * simd::width;
  if (wide && job.rows <= 4) return multiply_pair_block<4, 4>(job, 0, job.rows);
  const std::int64_t blocks = (job.rows + bf16_rows - 1) / bf16_rows;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t row = job.rows * block / blocks;
    multiply_pair_block<bf16_rows, 2>(job, row, job.rows * (block + 1) / blocks - row);
  }
}

}  // namespace
}  // namespace cogen::kernels
