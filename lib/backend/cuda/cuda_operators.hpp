#pragma once

#include "backend/operators.hpp"

#include <memory>

namespace cogen::device {

/// Matrix products of many rows run in cuBLASLt, attention of prompts in its flash attention, the rest in kernels.
/// Weights and caches are bfloat16 or float16. Parts that ask for more than kernels do run as tensor_operators says.
std::unique_ptr<operators> make_cuda_operators(int device);

/// The kernels alone, as backend::make_batch_invariant_operators() says.
std::unique_ptr<operators> make_batch_invariant_cuda_operators(int device);

}  // namespace cogen::device
