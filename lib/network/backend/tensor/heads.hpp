#pragma once

#include "network/backend/operators.hpp"

#include <ATen/core/Tensor.h>

namespace cogen::device {

/// Norms, clips and grows queries, keys and values in place, as they are before their rotation. qkv [tokens,
/// shape.qkv_width()], positions [tokens]
void prepare(const at::Tensor& qkv, const attention_shape& shape, const at::Tensor& positions);

/// Rotates queries and keys in place, and norms them if that comes behind it.
void rotate(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn, const at::Tensor& positions);

/// Some heads at other positions. x [tokens, heads, head_dim] float32
at::Tensor rotated(const at::Tensor& x, const rotation& turn, const at::Tensor& positions, std::int64_t first);

}  // namespace cogen::device
