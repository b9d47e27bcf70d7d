#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// Cosines and sines in device memory, cos [pairs], then sin [pairs]: `table` for positions [0, positions), and, unless
/// it is null, `far` for the multiples [0, multiples) of `positions`, by which further ones are turned on. A token
/// beyond them gets NaN, so that the mistake shows in its own logits.
struct rotation {
  const float* table = nullptr;  // [positions][2 * pairs]
  int positions = 0;
  int pairs = 0;               // a multiple of 8; 0 rotates nothing
  const float* far = nullptr;  // [multiples][2 * pairs]
  int multiples = 1;
};

/// Queries, keys and values of a step's tokens, in device memory, multiples of 16.
struct qkv_rows {
  void* qkv = nullptr;         // [tokens, q [heads, head_dim] | k [kv_heads, head_dim] | v [kv_heads, head_dim]]
  std::int64_t stride = 0;     // numbers between tokens, a multiple of 8
  number type = number::bf16;  // f16 or bf16
  int heads = 0;               // query heads; kv_heads and head_dim are the layer's
  void* sink_q = nullptr;      // [tokens, heads, head_dim]; needed where the layer has sinks
};

/// Rotates queries in place, and writes rotated keys and unrotated values to each token's place in the layer, which
/// keeps them in the rows' type or in fp8. Then quantizes the blocks that become due, if the layer quantizes. Where the
/// layer has sinks, the queries rotated for those go to sink_q.
///
/// Dimension i < pairs is rotated with dimension i + pairs; dimensions from 2 * pairs on stay as they are. Padding rows
/// are left alone. A step's tokens must not share a place: at most `ring` tokens of a slot in one step.
///
/// Throws std::invalid_argument for shapes that are not as said above, std::runtime_error if the kernel cannot be
/// launched.
void rotate_and_append(const kv_layer& layer, const new_tokens& step, const rotation& turn, const qkv_rows& rows,
                       cudaStream_t stream);

}  // namespace cogen::kernels::cuda
