#pragma once

#include "network/backend/quantized_rows.hpp"
#include "network/backend/tensors.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>

// Products of many rows with fp8 weights, whose rows are rounded to fp8, too: codes are multiplied by codes.
namespace cogen::device {

/// Products of up to so many rows multiply by the weights' codes alone.
inline constexpr std::int64_t max_unrounded_rows = 64;

/// Whether a product with x [rows, inputs] is one of these: weights are fp8, there are more rows, and LibTorch has such
/// products of the matrix's size.
bool rounds_rows(const at::Tensor& x, const projection& linear);

/// Rows as such a product multiplies them: by quantize_in_fp8(), with scales in float32. Of their type.
at::Tensor rounded_rows(const at::Tensor& x);

/// The codes [outputs, inputs] and scales [outputs] float32 of packed() weights, where they are.
quantized_rows codes_of(const projection& linear, std::int64_t inputs);

/// y = x weights^T by LibTorch's product, which on GPUs may add up with fewer bits than float32 has. x: codes [rows,
/// inputs], scales [rows] float32; weights and their scales as packed() has them; y [rows, outputs] bfloat16,
/// contiguous
void multiply_in_fp8(const quantized_rows& x, const projection& linear, const at::Tensor& y);

}  // namespace cogen::device
