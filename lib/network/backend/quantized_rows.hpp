#pragma once

#include "network/kernels/packed_weights.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace cogen::device {

/// Quantized rows of weights, where their numbers were.
struct quantized_rows {
  at::Tensor codes;   // [rows, columns]: int8 where they have 8 bits, of fp8 Float8_e4m3fn, else uint8
  at::Tensor scales;  // of the type that products are in: of int8 and fp8 [rows], in groups [rows, columns / group, 1],
                      // or 2 with zeros
  kernels::weight_packing packing;
};

/// Rows of that form to be filled. `numbers` are the device and the type of scales.
quantized_rows make_quantized_rows(kernels::weight_packing packing, std::int64_t rows, std::int64_t columns,
                                   at::TensorOptions numbers);

/// Rows [first, first + count) of them, a view.
quantized_rows some_of(const quantized_rows& rows, std::int64_t first, std::int64_t count);

/// With 4 bits, numbers of one row and columns [32 i, 32 i + 32) share a scale and a zero.
inline constexpr std::int64_t quantized_group = kernels::form_of(kernels::weight_packing::int4).group;

/// Codes int8, scales [rows]: number = code * scale, a 127th of the largest of a row, rounded. Numbers [rows, columns]
/// float32. Where a row has a number that is not finite, its codes are any.
quantized_rows quantize_in_8_bits(const at::Tensor& numbers, at::ScalarType scales);

/// Codes uint8 from 0 to 15, scales [rows, columns / 32, 2]: number = (code - 8) * scale + zero, from the least number
/// of a group to its largest. Where a group has a number that is not finite, its codes are any. Throws
/// std::invalid_argument unless `columns` is a multiple of 32.
quantized_rows quantize_in_4_bits(const at::Tensor& numbers, at::ScalarType scales);

/// Outputs whose packed weights a product of many rows unpacks at a time, where its results need not lie together.
inline constexpr std::int64_t unpacked_outputs = 16384;

/// Codes Float8_e4m3fn, scales [rows]: number = code * scale, a 448th of the largest of a row, rounded. Numbers [rows,
/// columns] float32. Where a row has a number that is not finite, its codes are any numbers.
quantized_rows quantize_in_fp8(const at::Tensor& numbers, at::ScalarType scales);

/// As one of these does.
quantized_rows quantize(const at::Tensor& numbers, kernels::weight_packing packing, at::ScalarType scales);

/// Codes as kernels/packed_weights.hpp has them, [rows, packed_row_bytes()] uint8, with scales [rows], or in groups
/// or of fp8 [rows, packed_row_scales()]; what rows are filled up with is 0. Throws
/// std::invalid_argument unless columns are a multiple of 8.
quantized_rows packed(const quantized_rows& rows);

}  // namespace cogen::device
