#pragma once

#include <cogen/load/element_type.hpp>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>

namespace cogen::models {

/// Rows of weights in few bits. On the host.
struct quantized_rows {
  at::Tensor codes;   // [rows, columns]
  at::Tensor scales;  // float32
};

/// Numbers of one row and columns [32 i, 32 i + 32) share a scale and a zero where they have 4 bits.
inline constexpr std::int64_t quantized_group = 32;

/// Codes int8, scales [rows]: number = code * scale, the largest of a row being 127 times its scale. Numbers [rows,
/// columns] float32, on the host.
quantized_rows quantize_in_8_bits(const at::Tensor& numbers);

/// Codes uint8 from 0 to 15, scales [columns / 32, rows, 2]: number = (code - 8) * scale + zero, from the least number
/// of a group to its largest. `columns` is a multiple of 32.
quantized_rows quantize_in_4_bits(const at::Tensor& numbers);

/// Whether rows of this type have 4 bits, and scales as above, already.
constexpr bool has_4_bits(load::element_type type) {
  return type == load::element_type::q4_0 || type == load::element_type::q4_1;
}

/// Those of such rows, as they are stored: no code changes.
quantized_rows stored_4_bits(load::element_type type, std::span<const std::byte> stored, std::int64_t rows,
                             std::int64_t columns);

}  // namespace cogen::models
