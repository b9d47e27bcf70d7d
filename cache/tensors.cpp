#include <cogen/extend/tensors.hpp>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace cogen {

at::Tensor tensor_of(const matrix_view& matrix) {
  return at::from_blob(matrix.data, {matrix.rows, matrix.columns}, {matrix.stride, 1}, at::kFloat);
}

matrix_view matrix_of(const at::Tensor& tensor) {
  const bool fits = tensor.defined() && tensor.dim() == 2 && tensor.scalar_type() == at::kFloat && tensor.is_cpu() &&
                    (tensor.stride(1) == 1 || tensor.size(1) <= 1);
  if (!fits) {
    std::ostringstream message;
    message << "a matrix is a float32 tensor [rows, columns] in host memory";
    if (tensor.defined()) message << ", this one is " << tensor.sizes() << " of " << tensor.scalar_type();
    throw std::invalid_argument(message.str());
  }
  return {.data = tensor.mutable_data_ptr<float>(),
          .rows = tensor.size(0),
          .columns = tensor.size(1),
          .stride = tensor.stride(0)};
}

namespace cache {
namespace {

at::Tensor tensor_of(const head_rows& rows) {
  return at::from_blob(rows.data, {rows.heads, rows.tokens, rows.dims}, {rows.head_stride, rows.token_stride, 1},
                       at::kFloat);
}

/// [tokens, heads, dims], whose rows have to lie side by side.
head_rows rows_of(const at::Tensor& tensor) {
  return {.data = tensor.mutable_data_ptr<float>(),
          .heads = static_cast<int>(tensor.size(1)),
          .tokens = static_cast<int>(tensor.size(0)),
          .dims = static_cast<int>(tensor.size(2)),
          .head_stride = tensor.stride(1),
          .token_stride = tensor.stride(0)};
}

void check_tensor(const char* name, const at::Tensor& tensor, at::IntArrayRef wanted) {
  if (tensor.defined() && tensor.sizes() == wanted && tensor.is_floating_point()) return;
  std::ostringstream message;
  message << "cache: " << name << " has to be a floating-point tensor " << wanted;
  if (tensor.defined()) message << ", it is " << tensor.sizes() << " of " << tensor.scalar_type();
  throw std::invalid_argument(message.str());
}

void check_not_negative(const char* name, int value) {
  if (value < 0)
    throw std::invalid_argument(std::string("mask: ") + name + " is " + std::to_string(value) + ", below 0");
}

void check(const mask_window& window) {
  check_not_negative("q_length", window.q_length);
  check_not_negative("q_offset", window.q_offset);
  check_not_negative("kv_length", window.kv_length);
  check_not_negative("kv_offset", window.kv_offset);
}

}  // namespace

at::ScalarType tensor_type(scalar type) {
  switch (type) {
    case scalar::f16:
      return at::kHalf;
    case scalar::bf16:
      return at::kBFloat16;
    case scalar::fp8:
      return at::kFloat8_e4m3fn;
    default:
      return at::kFloat;
  }
}

kv_tensors tensors_of(const keys_values& tokens) {
  return {.k = tensor_of(tokens.k).clone(), .v = tensor_of(tokens.v).clone()};
}

kv_tensors dense_tensors(const layer& layer, int slot, int length) {
  const kv_tensors tokens = tensors_of(layer.to_dense(slot, length));
  const auto type = tensor_type(layer.type());
  return {.k = tokens.k.to(type), .v = tokens.v.to(type)};
}

void append(layer& layer, const step& step, const at::Tensor& k, const at::Tensor& v) {
  const kv_cache_spec& shape = layer.shape();
  check_tensor("k", k, {step.tokens(), shape.kv_heads, shape.head_dim});
  check_tensor("v", v, {step.tokens(), shape.kv_heads, shape.value_dim()});
  const at::Tensor keys = k.to(at::kFloat).contiguous(), values = v.to(at::kFloat).contiguous();
  layer.append(step, rows_of(keys), rows_of(values));
}

at::Tensor to_dense(const mask& mask, const mask_window& window) {
  check(window);
  const at::Tensor seen = at::empty({window.q_length, window.kv_length}, at::kBool);
  bool* out = seen.data_ptr<bool>();
  for (std::int64_t i = 0; i < window.q_length; ++i)
    for (std::int64_t j = 0; j < window.kv_length; ++j) *out++ = mask(i + window.q_offset, j + window.kv_offset);
  return seen;
}

}  // namespace cache
}  // namespace cogen
