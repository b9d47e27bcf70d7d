#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace cogen::device {

/// Pinned host memory: `bytes` bytes, uint8. Takes 0.3 s a gigabyte. Throws std::bad_alloc. The end of the tensor calls
/// CUDA, which the callbacks of streams must not.
at::Tensor pinned_memory(std::size_t bytes);

}  // namespace cogen::device
