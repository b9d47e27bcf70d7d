#pragma once

#include "network/backend/operators.hpp"
#include "network/kernels/cache_layout.hpp"

#include <cogen/cache/device_cache.hpp>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <cuda_runtime_api.h>

// What kernels take of tensors, layers and steps.

namespace cogen::device {

/// Consecutive tokens of a step.
struct token_range {
  std::int64_t first;
  std::int64_t count;
};

/// Throws std::invalid_argument for a type that kernels do not know.
kernels::cuda::number number_of(const at::Tensor& tensor);

inline int size_of(const at::Tensor& tensor, std::int64_t dimension) {
  return static_cast<int>(tensor.size(dimension));
}

/// Null if it is not defined.
template <class T>
const T* numbers(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<T>() : nullptr;
}

template <class T>
T* bytes_as(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_data_ptr());
}

/// Kernels read 16 bytes at a time.
inline bool is_aligned(std::int64_t numbers) { return numbers % 8 == 0; }

cudaStream_t current_stream();

kernels::cuda::new_tokens tokens_of(const step_rows& rows, const token_range& which);
kernels::cuda::quantized_format format_of(const cache::group_format& format);
kernels::cuda::kv_layer layer_of(const cache::device_layer& layer);

}  // namespace cogen::device
