#pragma once

#include "kernels/kernel_table.hpp"
#include "kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

// Quantized keys and values of one head, read in place: rows of codes, `number = minimum + code * scale`.
namespace cogen::kernels {
namespace {

// Products of few rows read codes directly, those of many a tile of numbers. Each element is the same chain of
// multiply-adds either way.
constexpr std::int64_t most_direct_rows = 8;

// One head's block of a plane.
struct quantized_rows {
  const cache::quantized_plane& form;
  const std::byte* head;
  int rows;
  // Where groups lie along rows: scales and minimums [rows, groups].
  float* scales;
  float* minimums;
};

void widen_halves(const std::byte* from, int count, float* to) {
  for (int i = 0; i < count; i += simd::width) simd::store(to + i, simd::load_f16(from + std::ptrdiff_t{2} * i));
}

// The planes' parts are padded to 64 bytes, so that whole vectors can be read.
quantized_rows quantized_rows_at(const cache::quantized_plane& form, const std::byte* head, int rows, float* scales,
                                 float* minimums) {
  if (form.along_rows) {
    widen_halves(head, rows * form.groups, scales);
    widen_halves(head + form.minimums, rows * form.groups, minimums);
  }
  return {form, head, rows, scales, minimums};
}

// C vectors of neighboring columns, row by row from row 0.
template <int Bits, int C>
struct quantized_columns {
  const quantized_rows& from;
  int first;
  simd::f scale[C];
  simd::f minimum[C];

  COGEN_INLINE quantized_columns(const quantized_rows& rows, int column) : from(rows), first(column) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) scale[c] = minimum[c] = simd::zero();
  }

  COGEN_INLINE void enter(int row) {
    const cache::quantized_plane& form = from.form;
    if (form.along_rows) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        const int group = row * form.groups + (first + c * simd::width) / form.group;
        scale[c] = simd::set(from.scales[group]);
        minimum[c] = simd::set(from.minimums[group]);
      }
    } else if (row % form.group == 0) {
      const std::ptrdiff_t at = std::ptrdiff_t{row} / form.group * (form.row_bytes * 8 / Bits) + first;
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        scale[c] = simd::load_f16(from.head + 2 * (at + c * simd::width));
        minimum[c] = simd::load_f16(from.head + form.minimums + 2 * (at + c * simd::width));
      }
    }
  }

  COGEN_INLINE simd::f numbers(int row, int c) const {
    const cache::quantized_plane& form = from.form;
    const int column = first + c * simd::width;
    const std::byte* codes = from.head + form.codes + std::ptrdiff_t{row} * form.row_bytes + column % form.row_bytes;
    return simd::fma(simd::template codes<Bits>(codes, column / form.row_bytes), scale[c], minimum[c]);
  }
};

// to [rows, columns], `columns` being rounded up to whole vectors.
template <int Bits>
void dequantize_rows(const quantized_rows& from, int columns, float* to, std::int64_t stride) {
  for (int column = 0; column < columns; column += simd::width) {
    quantized_columns<Bits, 1> part(from, column);
    for (int row = 0; row < from.rows; ++row) {
      part.enter(row);
      simd::store(to + row * stride + column, part.numbers(row, 0));
    }
  }
}

void dequantize_rows(const quantized_rows& from, int columns, float* to, std::int64_t stride) {
  if (from.form.bits == 8) return dequantize_rows<8>(from, columns, to, stride);
  if (from.form.bits == 4) return dequantize_rows<4>(from, columns, to, stride);
  dequantize_rows<2>(from, columns, to, stride);
}

// c [rows, columns] = a [rows, b.rows] b, each element one chain over ascending rows of b.
struct quantized_product {
  const float* a;
  std::int64_t a_stride;
  const quantized_rows& b;
  float* c;
  std::int64_t c_stride;
};

template <int Bits, int M, int C>
void multiply_quantized_block(const quantized_product& p, std::int64_t row, int column) {
  simd::f sum[M][C];
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) sum[m][c] = simd::zero();
  }
  const float* a = p.a + row * p.a_stride;
  quantized_columns<Bits, C> b(p.b, column);
  for (int k = 0; k < p.b.rows; ++k) {
    b.enter(k);
    simd::f right[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) right[c] = b.numbers(k, c);
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const simd::f left = simd::set(a[m * p.a_stride + k]);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = simd::fma(left, right[c], sum[m][c]);
    }
  }
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) simd::store(p.c + (row + m) * p.c_stride + column + c * simd::width, sum[m][c]);
  }
}

template <int Bits, int M, int C>
COGEN_INLINE void multiply_quantized_rows(const quantized_product& p, std::int64_t row, std::int64_t rows, int column) {
  if (rows == M) return multiply_quantized_block<Bits, M, C>(p, row, column);
  if constexpr (M > 1) multiply_quantized_rows<Bits, M - 1, C>(p, row, rows, column);
}

template <int Bits, int C>
void multiply_quantized_columns(const quantized_product& p, std::int64_t rows, int column) {
  constexpr int together = 4;
  for (std::int64_t row = 0; row < rows; row += together)
    multiply_quantized_rows<Bits, together, C>(p, row, rows - row < together ? rows - row : together, column);
}

template <int Bits>
void multiply_quantized(const quantized_product& p, std::int64_t rows, int columns) {
  constexpr int wide = simd::width == 16 ? 4 : 2;
  int column = 0;
  for (; column + wide * simd::width <= columns; column += wide * simd::width)
    multiply_quantized_columns<Bits, wide>(p, rows, column);
  for (; column < columns; column += simd::width) multiply_quantized_columns<Bits, 1>(p, rows, column);
}

// `columns` is rounded up to whole vectors.
void multiply_quantized(const quantized_product& p, std::int64_t rows, int columns) {
  if (p.b.form.bits == 8) return multiply_quantized<8>(p, rows, columns);
  if (p.b.form.bits == 4) return multiply_quantized<4>(p, rows, columns);
  multiply_quantized<2>(p, rows, columns);
}

}  // namespace
}  // namespace cogen::kernels
