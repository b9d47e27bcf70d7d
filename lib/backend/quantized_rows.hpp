#pragma once

#include "kernels/packed_weights.hpp"
#include "load/element_type.hpp"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cogen::device {

/// Quantized rows of weights, where their numbers were.
struct quantized_rows {
  at::Tensor codes;   // [rows, columns]
  at::Tensor scales;  // of the type that products are in
};

/// With 4 bits, numbers of one row and columns [32 i, 32 i + 32) share a scale and a zero.
inline constexpr std::int64_t quantized_group = kernels::form_of(kernels::weight_packing::int4).group;

/// Codes int8, scales [rows]: number = code * scale, a 127th of the largest of a row, rounded. Numbers [rows, columns]
/// float32.
quantized_rows quantize_in_8_bits(const at::Tensor& numbers, at::ScalarType scales);

/// Codes uint8 from 0 to 15, scales [rows, columns / 32, 2]: number = (code - 8) * scale + zero, from the least number
/// of a group to its largest. Throws std::invalid_argument unless `columns` is a multiple of 32.
quantized_rows quantize_in_4_bits(const at::Tensor& numbers, at::ScalarType scales);

/// Whether stored rows of this type already have 4 bits, and scales as above.
constexpr bool has_4_bits(load::element_type type) {
  return type == load::element_type::q4_0 || type == load::element_type::q4_1;
}

/// The codes and scales of such rows as they are stored, in host memory; scales are float32.
quantized_rows stored_4_bits(load::element_type type, std::span<const std::byte> stored, std::int64_t rows,
                             std::int64_t columns);

/// Codes as kernels/packed_weights.hpp has them, [rows, packed_row_bytes()] uint8, with scales [rows], or for 4 bits
/// [rows, packed_blocks() * 4, 2]; what rows are filled up with is 0.
quantized_rows packed(const quantized_rows& rows);

}  // namespace cogen::device
