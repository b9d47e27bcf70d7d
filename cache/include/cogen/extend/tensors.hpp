#pragma once

#include <cogen/detail/matrix.hpp>
#include <cogen/extend/kv_layer.hpp>

#include <ATen/core/Tensor.h>

// LibTorch at the edge: what caches and models on the CPU take and give, as tensors. Link cogen::torch.

namespace cogen {

/// The same memory as a tensor [rows, columns] float32, valid as long as the matrix.
at::Tensor tensor_of(const matrix_view& matrix);

/// The same memory as a matrix, valid as long as the tensor: [rows, columns] float32 in host memory, columns side by
/// side. Throws std::invalid_argument, with what it is, for another tensor.
matrix_view matrix_of(const at::Tensor& tensor);

namespace cache {

/// The tensor type of a number format.
at::ScalarType tensor_type(scalar type);

/// Keys and values as tensors in memory of their own, [kv_heads, length, head_dim and value_dim()].
struct kv_tensors {
  at::Tensor k;
  at::Tensor v;
};

/// In float32.
kv_tensors tensors_of(const keys_values& tokens);

/// What the layer holds of the first `length` tokens of a slot, as layer::to_dense(), in the layer's number format.
/// Quantized tokens are rounded to it.
kv_tensors dense_tensors(const layer& layer, int slot, int length);

/// As layer::append(), of tensors k [tokens, kv_heads, head_dim] and v [tokens, kv_heads, value_dim()] of any floating
/// type. Throws std::invalid_argument, with what they are, for other tensors.
void append(layer& layer, const step& step, const at::Tensor& k, const at::Tensor& v);

/// Row i stands for query position i + q_offset, column j for key position j + kv_offset.
struct mask_window {
  int q_length = 0;
  int q_offset = 0;
  int kv_length = 0;
  int kv_offset = 0;
};

/// True if the query of row i attends to the key of column j. Boolean, [q_length, kv_length]. Throws
/// std::invalid_argument for a length or an offset below 0.
at::Tensor to_dense(const mask& mask, const mask_window& window);

}  // namespace cache
}  // namespace cogen
