#pragma once

#include "device/operators.hpp"

#include <memory>

namespace cogen::device {

/// Matrix products of many rows by LibTorch, attention of prompts by its flash attention, the rest by kernels. Weights
/// and caches are bfloat16 or float16.
std::unique_ptr<operators> make_cuda_operators(int device);

}  // namespace cogen::device
