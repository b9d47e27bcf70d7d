#pragma once

#include "network/kernels/dots.hpp"
#include "network/kernels/fetch.hpp"
#include "network/kernels/int8_table.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/quantize_body.hpp"

#include <cogen/detail/cache/view.hpp>

#include <cstddef>
#include <cstdint>

// Products of some rows with quantized keys or values where they lie, `number = minimum + code * scale`. For every 64
// rows of codes a row is rounded to 8 or to 15 bits, so that products with codes of at most 8 can be summed in
// integers: codes are never made numbers, and each instruction set comes to the same sums.
namespace cogen::kernels {
namespace {

constexpr int code_span_rows = 64;
constexpr float smallest_rounded = 0x1p-100F;

// Rows of codes that are summed together.
struct code_span {
  int first;
  int count;
};

// Where groups go along rows, each row has a scale of its own for some columns, which becomes part of the numbers that
// it is multiplied by. Otherwise each column has one, for a group of rows.
COGEN_INLINE code_span span_from(const code_job& job, int first, bool along) {
  std::int64_t end = first + code_span_rows;
  if (!along) {
    const std::int64_t group_end = (first / job.form->group + std::int64_t{1}) * job.form->group;
    if (group_end < end) end = group_end;
  }
  return {first, static_cast<int>((end < job.depth ? end : job.depth) - first)};
}

// The scales of rows for some columns, and their minimums.
struct scales_of_rows {
  float scale[max_head_dim];
  float minimum[max_head_dim];

  void load(const code_job& job, int group) {
    const std::byte* scales = job.block + std::ptrdiff_t{2} * group * job.form->rows;
    for (int index = 0; index < job.depth; index += simd::width) {
      simd::store(scale + index, simd::load_f16(scales + std::ptrdiff_t{2} * index));
      simd::store(minimum + index, simd::load_f16(scales + job.form->minimums + std::ptrdiff_t{2} * index));
    }
  }
};

// Of one row for one span: `number = code * scale`, and what its products owe to minimums.
struct span_scale {
  float scale;
  float offset;
};

// A row, rounded, in rounded_row_floats(): its codes, four to a quad, and the scales of its spans.
template <class Quad>
struct rounded_row {
  Quad* quads;
  span_scale* spans;

  rounded_row(float* memory, std::int64_t depth)
      : quads(reinterpret_cast<Quad*>(memory)),
        spans(reinterpret_cast<span_scale*>(memory + rounded_up(depth, code_span_rows))) {
    static_assert(sizeof(Quad) <= 4 * sizeof(float));
  }
};

// Of tokens that no query sees scales may be any, and their weights are 0: what is rounded is measured, for no bound on
// the scales alone would do. What is not a number makes the offset none; its codes do not matter then. Where columns
// have minimums, those are multiplied by what was rounded: products are then wrong by what rounding changed times whole
// numbers, and not times codes, which are further from 0.
template <bool Along, bool Whole, class Quad>
COGEN_INLINE span_scale round_span(const code_job& job, const float* a, code_span span, const scales_of_rows& scales,
                                   Quad* quads) {
  const int count = Whole ? code_span_rows : span.count;
  simd::f numbers[code_span_rows / simd::width];
  simd::f largest = simd::zero(), total = simd::zero();
  for (int index = 0; index < count; index += simd::width) {
    const float* source = a + span.first + index;
    simd::f& number = numbers[index / simd::width];
    number = Whole ? simd::load(source) : simd::load_first(source, count - index);
    if constexpr (Along) {
      total = dots::fma(number, simd::load(scales.minimum + span.first + index), total);
      number = simd::mul(number, simd::load(scales.scale + span.first + index));
    }
    largest = simd::max(largest, magnitude(number));
  }
  const float max_steps = job.a_bits == 8 ? 127 : 127 * 128;
  const float bound = simd::largest(largest);
  const simd::f factor = simd::set(bound > smallest_rounded ? max_steps / bound : 0);
  for (int index = 0; index < count; index += simd::width) {
    const simd::f rounded = dots::fma(numbers[index / simd::width], factor, simd::set(rounding));
    dots::store_quads(quads + index / 4, simd::bits(rounded));
    if constexpr (!Along) total = simd::add(total, simd::sub(rounded, simd::set(rounding)));
  }
  const float scale = bound * (1 / max_steps);
  return {scale, Along ? simd::sum(total) : simd::sum(total) * scale};
}

template <bool Along, class Quad>
COGEN_INLINE void round_to_quads(const code_job& job, std::int64_t row, const scales_of_rows& scales, float* memory) {
  const float* a = job.a[row];
  const rounded_row<Quad> rounded(memory, job.depth);
  span_scale* scale = rounded.spans;
  for (code_span span{0, 0}; span.first + span.count < job.depth; ++scale) {
    span = span_from(job, span.first + span.count, Along);
    Quad* quads = rounded.quads + span.first / 4;
    *scale = span.count == code_span_rows ? round_span<Along, true>(job, a, span, scales, quads)
                                          : round_span<Along, false>(job, a, span, scales, quads);
  }
}

// What is read next comes into the nearest cache while this block is multiplied, and what comes after it on its way
// there: some bytes with each step, so that memory is busy all the time, and no step waits for it.
struct block_fetch {
  const std::byte* line;
  const std::byte* reached;
  std::int64_t next;
  std::int64_t after;
  std::int64_t bytes;  // of a step

  COGEN_INLINE void step(int steps = 1) {
    for (reached += steps * bytes; line < reached; line += 64) fetch<64>(line + next, line + after);
  }
};

constexpr int steps_of_rounding = 8;  // of one row: more than its time, for then what comes next is early

block_fetch fetch_of(const code_job& job, bool along) {
  const cache::quantized_plane& form = *job.form;
  const std::int64_t groups = along ? divided_up(job.columns, form.group) : 1;
  const std::int64_t tiles = divided_up(divided_up(job.columns, groups), dots::code_vectors * simd::width);
  const std::int64_t quads = divided_up(job.depth, 4);
  const std::int64_t of_rounding = job.rounded ? 0 : job.rows * steps_of_rounding;
  const std::int64_t of_products = divided_up(job.rows, dots::code_rows) * quads * tiles;
  const std::int64_t steps = groups * (of_rounding + of_products);
  return {job.block, job.block, job.next, job.after, divided_up(form.codes + 4 * quads * form.row_bytes, steps)};
}

// M rows and C vectors of neighboring columns.
template <int Bits, bool Along, int M, int C, class Quad>
[[gnu::noinline]] void multiply_code_columns(const code_job& job, float* rounded, std::int64_t row, int column,
                                             block_fetch& fetch) {
  const cache::quantized_plane& form = *job.form;
  const int quad_bytes = 4 * form.row_bytes;
  const std::byte* row_codes[C];  // of the rows at hand
  int shift[C];
  simd::f total[M][C];
  COGEN_UNROLL
  for (int c = 0; c < C; ++c) {
    const int place = column + c * simd::width;
    row_codes[c] = job.block + form.codes + 4 * (place % form.row_bytes);
    shift[c] = place / form.row_bytes * Bits;
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) total[m][c] = simd::zero();
  }
  const std::int64_t row_floats = rounded_row_floats(job.depth);
  int number = 0;
  for (code_span span{0, 0}; span.first + span.count < job.depth; ++number) {
    span = span_from(job, span.first + span.count, Along);
    const Quad* quads[M];
    COGEN_UNROLL
    for (int m = 0; m < M; ++m) quads[m] = rounded_row<Quad>(rounded + m * row_floats, job.depth).quads;
    typename Quad::sum sums[M][C];
    for (int end = span.first + span.count, quad = span.first / 4; 4 * quad < end; ++quad) {
      fetch.step();
      dots::spread_codes codes[C];
      COGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        simd::i bytes = simd::load_bits(row_codes[c]);
        row_codes[c] += quad_bytes;
        if constexpr (Bits < 8)
          bytes = simd::and_bits(simd::shift_right(bytes, shift[c]), simd::set_bits(((1 << Bits) - 1) * 0x01010101));
        codes[c] = dots::spread(bytes);
      }
      COGEN_UNROLL
      for (int m = 0; m < M; ++m) {
        COGEN_UNROLL
        for (int c = 0; c < C; ++c) sums[m][c].add(codes[c], quads[m][quad]);
      }
    }
    const std::byte* scales =
        job.block + 2 * (Along ? 0 : span.first / form.group * (form.row_bytes * 8 / Bits) + column);
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      const std::byte* of_columns = scales + 2 * c * simd::width;
      COGEN_UNROLL
      for (int m = 0; m < M; ++m) {
        const span_scale& a = rounded_row<Quad>(rounded + m * row_floats, job.depth).spans[number];
        const simd::f offset = simd::set(a.offset), scale = simd::set(a.scale);
        if constexpr (Along) {
          total[m][c] = dots::fma(sums[m][c].value(), scale, simd::add(total[m][c], offset));
        } else {
          total[m][c] = dots::fma(simd::load_f16(of_columns + form.minimums), offset, total[m][c]);
          total[m][c] = dots::fma(simd::mul(sums[m][c].value(), scale), simd::load_f16(of_columns), total[m][c]);
        }
      }
    }
  }
  COGEN_UNROLL
  for (int m = 0; m < M; ++m) {
    COGEN_UNROLL
    for (int c = 0; c < C; ++c) simd::store(job.c[row + m] + column + c * simd::width, total[m][c]);
  }
}

// Columns [first, last), which have the same scales of rows.
struct column_group {
  int first;
  int last;
  const scales_of_rows& scales;
};

template <int Bits, bool Along, int M, class Quad>
void multiply_code_group(const code_job& job, std::int64_t row, const column_group& group, block_fetch& fetch) {
  const std::int64_t row_floats = rounded_row_floats(job.depth);
  float memory[M * rounded_row_floats(max_head_dim)];
  float* rounded = job.rounded ? job.rounded + row * row_floats : memory;
  for (int m = 0; m < M && !job.rounded; ++m) {
    fetch.step(steps_of_rounding);
    round_to_quads<Along, Quad>(job, row + m, group.scales, rounded + m * row_floats);
  }
  int column = group.first;
  for (; column + 4 * simd::width <= group.last && dots::code_vectors == 4; column += 4 * simd::width)
    multiply_code_columns<Bits, Along, M, dots::code_vectors, Quad>(job, rounded, row, column, fetch);
  for (; column + 2 * simd::width <= group.last; column += 2 * simd::width)
    multiply_code_columns<Bits, Along, M, 2, Quad>(job, rounded, row, column, fetch);
  for (; column < group.last; column += simd::width)
    multiply_code_columns<Bits, Along, M, 1, Quad>(job, rounded, row, column, fetch);
}

template <int Bits, bool Along, int M, class Quad>
void multiply_code_rows(const code_job& job, std::int64_t row, std::int64_t rows, const column_group& group,
                        block_fetch& fetch) {
  if constexpr (M > 1)
    if (rows < M) return multiply_code_rows<Bits, Along, M - 1, Quad>(job, row, rows, group, fetch);
  multiply_code_group<Bits, Along, M, Quad>(job, row, group, fetch);
}

template <int Bits, bool Along, class Quad>
void multiply_codes(const code_job& job) {
  const std::int64_t blocks = divided_up(job.rows, dots::code_rows);
  block_fetch fetch = fetch_of(job, Along);
  scales_of_rows scales;
  for (int first = 0, last = 0, number = 0; first < job.columns; first = last, ++number) {
    const std::int64_t end = first + std::int64_t{Along ? job.form->group : job.columns};
    last = end < job.columns ? static_cast<int>(end) : job.columns;
    if constexpr (Along) scales.load(job, number);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t row = job.rows * block / blocks;
      multiply_code_rows<Bits, Along, dots::code_rows, Quad>(job, row, job.rows * (block + 1) / blocks - row,
                                                             {first, last, scales}, fetch);
    }
  }
}

template <int Bits, class Quad>
void multiply_codes(const code_job& job) {
  job.form->along_rows ? multiply_codes<Bits, true, Quad>(job) : multiply_codes<Bits, false, Quad>(job);
}

template <class Quad>
void multiply_codes(const code_job& job) {
  if (job.form->bits == 8) return multiply_codes<8, Quad>(job);
  if (job.form->bits == 4) return multiply_codes<4, Quad>(job);
  multiply_codes<2, Quad>(job);
}

void multiply_codes(const code_job& job) {
  job.a_bits == 8 ? multiply_codes<dots::byte_quad>(job) : multiply_codes<dots::quad>(job);
}

template <class Quad>
void round_rows(const code_job& job) {
  scales_of_rows none;
  for (std::int64_t row = 0; row < job.rows; ++row)
    round_to_quads<false, Quad>(job, row, none, job.rounded + row * rounded_row_floats(job.depth));
}

void round_rows(const code_job& job) {
  job.a_bits == 8 ? round_rows<dots::byte_quad>(job) : round_rows<dots::quad>(job);
}

}  // namespace
}  // namespace cogen::kernels
