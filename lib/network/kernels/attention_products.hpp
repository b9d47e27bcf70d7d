#pragma once

#include "network/kernels/elementwise_body.hpp"
#include "network/kernels/fetch.hpp"
#include "network/kernels/input_rows.hpp"
#include "network/kernels/simd.hpp"

#include <cogen/detail/cache/view.hpp>

#include <cstddef>
#include <cstdint>

// Products of a few rows with numbers of a cache, read where they lie.
namespace cogen::kernels {
namespace {

struct from_f32 {
  static constexpr int size = 4;
  static simd::f load(const std::byte* source) { return simd::load(reinterpret_cast<const float*>(source)); }
};
struct from_f16 {
  static constexpr int size = 2;
  static simd::f load(const std::byte* source) { return simd::load_f16(source); }
};
struct from_bf16 {
  static constexpr int size = 2;
  static simd::f load(const std::byte* source) { return simd::load_bf16(source); }
};

// c [M, C vectors] = a [M, depth] b [depth, C vectors], each element one chain over ascending depth.
struct product {
  strided_rows<const float> a = {};
  const std::byte* b = nullptr;  // numbers of a format
  std::int64_t b_stride = 0;     // numbers
  strided_rows<float> c = {};
  std::int64_t depth = 0;
  std::int64_t next = 0;   // bytes from b to what is read after it
  std::int64_t after = 0;  // and to what is read after that
};

template <class Format, bool Fetch, int M, int C>
void multiply_block(const product& p, std::int64_t row, std::int64_t column) {
  constexpr int vector = simd::width * Format::size;
  simd::f sum[M][C];
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) sum[m][c] = simd::zero();
  }
  input_rows<float, M> a(p.a.rest(row));
  const std::byte* b = p.b + column * Format::size;
  for (std::int64_t k = 0; k < p.depth; ++k, a.advance(1), b += p.b_stride * Format::size) {
    simd::f right[C];
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) right[c] = Format::load(b + c * vector);
    if constexpr (Fetch) fetch<C * vector>(b + p.next, b + p.after);
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) {
      const simd::f left = simd::set(*a[m]);
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) sum[m][c] = simd::fma(left, right[c], sum[m][c]);
    }
  }
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) simd::store(p.c[row + m] + column + c * simd::width, sum[m][c]);
  }
}

template <class Format, bool Fetch, int M, int C>
COGEN_INLINE void multiply_block_rows(const product& p, std::int64_t row, std::int64_t rows, std::int64_t column) {
  if (rows == M) return multiply_block<Format, Fetch, M, C>(p, row, column);
  if constexpr (M > 1) multiply_block_rows<Format, Fetch, M - 1, C>(p, row, rows, column);
}

template <class Format, bool Fetch, int C, int Rows>
void multiply_columns(const product& p, std::int64_t rows, std::int64_t column) {
  const std::int64_t blocks = (rows + Rows - 1) / Rows;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t row = rows * block / blocks;
    multiply_block_rows<Format, Fetch, Rows, C>(p, row, rows * (block + 1) / blocks - row, column);
  }
}

// `columns` is rounded up to whole vectors.
template <class Format, bool Fetch, int Rows>
void multiply(const product& p, std::int64_t rows, std::int64_t columns, std::int64_t column = 0) {
  for (; column + simd::width < columns; column += 2 * simd::width)
    multiply_columns<Format, Fetch, 2, Rows>(p, rows, column);
  for (; column < columns; column += simd::width) multiply_columns<Format, Fetch, 1, Rows>(p, rows, column);
}

// The same of few rows, which fetch what comes next, and are held against four vectors at once if registers allow it.
constexpr int few_rows = 4;
template <class Format>
void multiply_few(const product& p, std::int64_t rows, std::int64_t columns) {
  std::int64_t column = 0;
  if (rows <= simd::wide_rows)
    for (; column + 4 * simd::width <= columns; column += 4 * simd::width)
      multiply_columns<Format, true, 4, simd::wide_rows>(p, rows, column);
  multiply<Format, true, few_rows>(p, rows, columns, column);
}

// target [rows, target_stride] as float32, each row padded by zeros to whole vectors.
template <class Format>
void widen(const product& p, int width, float* target, std::int64_t target_stride) {
  const std::byte* source = p.b;
  for (std::int64_t row = 0; row < p.depth; ++row, source += p.b_stride * Format::size, target += target_stride)
    over_row(
        width, [&](row_span span) __attribute__((always_inline)) {
          const std::byte* numbers = source + span.offset * Format::size;
          __builtin_prefetch(numbers + p.next);
          if (span.live == simd::width) return simd::store(target + span.offset, Format::load(numbers));
          alignas(64) std::byte rest[simd::width * Format::size] = {};
          __builtin_memcpy(rest, numbers, static_cast<std::size_t>(span.live) * Format::size);
          simd::store(target + span.offset, Format::load(rest));
        });
}

void widen(cache::scalar type, const product& p, int width, float* target, std::int64_t target_stride) {
  if (type == cache::scalar::f32) return widen<from_f32>(p, width, target, target_stride);
  if (type == cache::scalar::f16) return widen<from_f16>(p, width, target, target_stride);
  widen<from_bf16>(p, width, target, target_stride);
}

// The product with `width` numbers of the cache in each row, read where they lie. Those of 16 bits are widened once for
// many rows, and so are all whose rows are no whole vectors.
template <class Format>
void multiply_stored(product p, std::int64_t rows, int width, float* widened, std::int64_t widened_stride) {
  const bool whole = width % simd::width == 0;
  if (whole && rows <= few_rows) return multiply_few<Format>(p, rows, width);
  if (!whole || Format::size < 4) {
    widen<Format>(p, width, widened, widened_stride);
    p.b = reinterpret_cast<const std::byte*>(widened);
    p.b_stride = widened_stride;
    p.next = p.after = 0;
  }
  multiply<from_f32, false, simd::narrow_panel_rows>(p, rows, rounded_up(width, simd::width));
}

void multiply_stored(cache::scalar type, const product& p, std::int64_t rows, int width, float* widened,
                     std::int64_t widened_stride) {
  switch (type) {
    case cache::scalar::f32:
      return multiply_stored<from_f32>(p, rows, width, widened, widened_stride);
    case cache::scalar::f16:
      return multiply_stored<from_f16>(p, rows, width, widened, widened_stride);
    case cache::scalar::bf16:
      return multiply_stored<from_bf16>(p, rows, width, widened, widened_stride);
    case cache::scalar::fp8:
      break;  // not of this processor
  }
}

}  // namespace
}  // namespace cogen::kernels
