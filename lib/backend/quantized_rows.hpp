#pragma once

#include "load/element_type.hpp"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>

namespace cogen::device {

/// Quantized rows of weights, on the host.
struct quantized_rows {
  at::Tensor codes;   // [rows, columns]
  at::Tensor scales;  // float32
};

/// With 4 bits, numbers of one row and columns [32 i, 32 i + 32) share a scale and a zero.
inline constexpr std::int64_t quantized_group = 32;

/// Codes int8, scales [rows]: number = code * scale, the largest of a row being 127 times its scale. Numbers [rows,
/// columns] float32, on the host.
quantized_rows quantize_in_8_bits(const at::Tensor& numbers);

/// Codes uint8 from 0 to 15, scales [columns / 32, rows, 2]: number = (code - 8) * scale + zero, from the least number
/// of a group to its largest. `columns` is a multiple of 32.
quantized_rows quantize_in_4_bits(const at::Tensor& numbers);

/// Whether stored rows of this type already have 4 bits, and scales as above.
constexpr bool has_4_bits(load::element_type type) {
  return type == load::element_type::q4_0 || type == load::element_type::q4_1;
}

/// The codes and scales of such rows as they are stored.
quantized_rows stored_4_bits(load::element_type type, std::span<const std::byte> stored, std::int64_t rows,
                             std::int64_t columns);

}  // namespace cogen::device
