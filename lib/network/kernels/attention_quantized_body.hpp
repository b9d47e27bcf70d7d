#pragma once

#include "network/kernels/int8_table.hpp"
#include "network/kernels/kernel_table.hpp"
#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

// Quantized keys and values of one head, as cache::quantized_plane describes them.
namespace cogen::kernels {
namespace {

// One head's block of quantized keys or values, and how far it is from there to what is read next and after that.
struct stored_quantized {
  const cache::quantized_plane& form;
  const std::byte* head;
  std::int64_t next;   // bytes
  std::int64_t after;  // bytes
};

// The job with what the block says.
code_job code_job_of(const stored_quantized& block, code_job job) {
  job.form = &block.form;
  job.block = block.head;
  job.next = block.next;
  job.after = block.after;
  return job;
}

// The numbers of a vector of neighboring columns, in four rows from one on.
template <int Bits>
void dequantize_quad(const stored_quantized& source, int row, int rows, int column, float* target,
                     std::int64_t stride) {
  const cache::quantized_plane& form = source.form;
  const std::byte* bytes = source.head + form.codes + row * form.row_bytes + 4 * (column % form.row_bytes);
  const simd::i codes = simd::shift_right(simd::load_bits(bytes), column / form.row_bytes * Bits);
  for (int i = 0; i < 4 && row + i < rows; ++i) {
    const int padded = form.row_bytes * 8 / Bits;
    const int group = form.along_rows ? column / form.group * form.rows + row + i : (row + i) / form.group * padded;
    const std::byte* scale = source.head + std::ptrdiff_t{2} * (form.along_rows ? group : group + column);
    const auto number_of = [&](const std::byte* half) __attribute__((always_inline)) {
      return form.along_rows ? simd::set_f16(half) : simd::load_f16(half);
    };
    const simd::i code = simd::and_bits(simd::shift_right(codes, 8 * i), simd::set_bits((1 << Bits) - 1));
    simd::store(target + i * stride, simd::fma(simd::number(code), number_of(scale), number_of(scale + form.minimums)));
  }
}

// The first rows, to [rows, columns]; `columns` are whole vectors.
template <int Bits>
void dequantize_rows(const stored_quantized& source, int rows, int columns, float* target) {
  for (int row = 0; row < rows; row += 4)
    for (int column = 0; column < columns; column += simd::width)
      dequantize_quad<Bits>(source, row, rows, column, target + std::ptrdiff_t{row} * columns + column, columns);
}

void dequantize_rows(const stored_quantized& source, int rows, int columns, float* target) {
  if (source.form.bits == 8) return dequantize_rows<8>(source, rows, columns, target);
  if (source.form.bits == 4) return dequantize_rows<4>(source, rows, columns, target);
  dequantize_rows<2>(source, rows, columns, target);
}

}  // namespace
}  // namespace cogen::kernels
