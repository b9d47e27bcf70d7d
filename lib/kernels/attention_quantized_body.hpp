#pragma once

#include "kernels/attention_products.hpp"
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

// One head's block of quantized keys or values, and how far it is from there to what is read next and after that.
struct stored_quantized {
  const cache::quantized_plane& form;
  const std::byte* head;
  std::int64_t next;   // bytes
  std::int64_t after;  // bytes
};

// Its first rows.
struct quantized_rows : stored_quantized {
  int rows;
  // Where groups lie along rows: scales and minimums [rows, groups].
  float* scales;
  float* minimums;
};

void widen_halves(const std::byte* from, int count, float* to) {
  for (int i = 0; i < count; i += simd::width) simd::store(to + i, simd::load_f16(from + std::ptrdiff_t{2} * i));
}

// The planes' parts are padded to 64 bytes, so that whole vectors can be read.
quantized_rows quantized_rows_of(const stored_quantized& block, int rows, float* scales, float* minimums) {
  const auto& [form, head, next, after] = block;
  for (std::int64_t byte = 0; byte < form.codes; byte += 64) fetch<64>(head + byte + next, head + byte + after);
  if (form.along_rows) {
    widen_halves(head, rows * form.groups, scales);
    widen_halves(head + form.minimums, rows * form.groups, minimums);
  }
  return {block, rows, scales, minimums};
}

// C vectors of neighboring columns, row by row from row 0.
template <int Bits, int C>
struct quantized_columns {
  const quantized_rows& from;
  const std::byte* codes;     // of the row at hand
  int first[C];               // byte of a row
  int part[C];                // codes of each byte
  const float* row_scale[C];  // where groups lie along rows; an index of the group took 5 to 9 % longer
  const std::byte* scales;    // where they lie across them: of the next group
  int left = 0;               // rows of the group at hand
  simd::f scale[C];
  simd::f minimum[C];

  COGEN_INLINE quantized_columns(const quantized_rows& rows, int column)
      : from(rows), codes(rows.head + rows.form.codes), scales(rows.head + 2 * column) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c, column += simd::width) {
      first[c] = column % rows.form.row_bytes;
      part[c] = column / rows.form.row_bytes;
      row_scale[c] = rows.scales + column / rows.form.group;
      scale[c] = minimum[c] = simd::zero();
    }
  }

  // To be called before numbers() of each row, and next() after.
  COGEN_INLINE void enter() {
    if (from.form.along_rows) {
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        scale[c] = simd::set(*row_scale[c]);
        minimum[c] = simd::set(row_scale[c][from.minimums - from.scales]);
      }
    } else if (left == 0) {
      left = from.form.group;
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        scale[c] = simd::load_f16(scales + 2 * c * simd::width);
        minimum[c] = simd::load_f16(scales + from.form.minimums + 2 * c * simd::width);
      }
      scales += 2 * (std::ptrdiff_t{from.form.row_bytes} * 8 / Bits);
    }
  }
  COGEN_INLINE void next() {
    codes += from.form.row_bytes;
    --left;
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) row_scale[c] += from.form.groups;
  }

  // Fetches the codes that lie where this row does in what is read next and after that.
  COGEN_INLINE void fetch_others() const { fetch<64>(codes + from.next, codes + from.after); }

  COGEN_INLINE simd::f numbers(int c) const {
    return simd::fma(simd::template codes<Bits>(codes + first[c], part[c]), scale[c], minimum[c]);
  }
};

// to [rows, columns], `columns` being rounded up to whole vectors.
template <int Bits>
void dequantize_rows(const quantized_rows& from, int columns, float* to, std::int64_t stride) {
  for (int column = 0; column < columns; column += simd::width) {
    quantized_columns<Bits, 1> part(from, column);
    for (int row = 0; row < from.rows; ++row, part.next()) {
      part.enter();
      simd::store(to + row * stride + column, part.numbers(0));
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
  for (int k = 0; k < p.b.rows; ++k, b.next()) {
    b.enter();
    if constexpr (C > 1) b.fetch_others();
    simd::f right[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) right[c] = b.numbers(c);
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
