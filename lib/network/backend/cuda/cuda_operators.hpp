#pragma once

#include "network/backend/backend.hpp"
#include "network/backend/cuda/prompt_attention_log.hpp"
#include "network/backend/operators.hpp"

#include <memory>

namespace cogen::device {

/// Matrix products of many rows run in cuBLASLt, attention of prompts in cuDNN or in LibTorch's FlashAttention-2, the
/// rest in kernels. Weights and caches are bfloat16 or float16. Parts that ask for more than kernels do run as
/// tensor_operators says.
///
/// cuDNN attends where the device is of generation 9 (Hopper) or newer, caches are of the activations' type and keep a
/// place for each position, queries are too many for flash attention to split their keys, and there is a plan (see
/// cudnn_attention). `attended` counts both.
std::unique_ptr<operators> make_cuda_operators(int device, const backend_switches& switches,
                                               std::shared_ptr<prompt_attention_log> attended);

/// The kernels alone, as backend::make_batch_invariant_operators() says.
std::unique_ptr<operators> make_batch_invariant_cuda_operators(int device);

}  // namespace cogen::device
