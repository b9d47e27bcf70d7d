#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

// What a step on a processor needs of tensors. None of it calls a function of LibTorch, which would load it: see
// cache/load_torch.cpp.
namespace cogen::nn {

/// [rows, columns] float32 in host memory; its numbers are not set. Throws std::bad_alloc or LibTorch's error if there
/// is none.
at::Tensor host_floats(std::int64_t rows, std::int64_t columns);

/// The first `count` rows of such a tensor, in the same memory.
at::Tensor first_rows(const at::Tensor& tensor, std::int64_t count);

/// The numbers of a contiguous float32 tensor.
inline float* floats_of(const at::Tensor& tensor) { return static_cast<float*>(tensor.mutable_data_ptr()); }

}  // namespace cogen::nn
