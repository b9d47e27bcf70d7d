#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Whether blocks can be quantized, and read, in these formats: head_dim 64, 96, 128 or 256; keys and values in 8 bits
/// by token, keys in 8 and values in 4 bits by token, or keys by channel and values by token, both in 4 or both in 2
/// bits; groups of 32 or 64; full precision in f16 or bf16; no sinks.
bool supports_quantization(const kv_layer& layer);

/// Quantizes the blocks that become due with a step's tokens, whose rows must be in the layer: the block that the query
/// of token number n is the first to read quantized, for each n among them. Each is written once, in the form that
/// cogen::cache::make_group_codec() defines. rotate_and_append() does this by itself.
///
/// Throws std::invalid_argument for what is not supported, std::runtime_error if the kernel cannot be launched.
void quantize_due_blocks(const kv_layer& layer, const new_tokens& step, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
