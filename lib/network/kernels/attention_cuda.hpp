#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// One query token a row; rows may share a slot. Pointers are to device memory, multiples of 16.
struct decode_operands {
  const void* q = nullptr;     // [rows, heads, head_dim], rotated
  std::int64_t q_stride = 0;   // numbers between rows, a multiple of 8
  number type = number::bf16;  // of q and out: f16 or bf16
  int heads = 0;               // a multiple of the layer's kv_heads
  float scale = 1.0F;          // of q . k, usually 1 / sqrt(head_dim)
  void* out = nullptr;         // [rows, heads * head_dim]; zeros for padding rows

  const void* sink_q = nullptr;  // [rows, heads, head_dim]; needed where the layer has sinks

  void* workspace = nullptr;         // decode_workspace_bytes(); may be null for one split
  std::int32_t* counters = nullptr;  // [rows * heads], 0 before and after; may be null for one split
  int splits = 1;                    // into how many parts, at most, a row's keys are cut
  int min_blocks = 1;                // that a part has, of 64 positions, but the last one
};

/// Whether decode_attention() can read such a layer: head_dim 64, 96, 128 or 256, keys and values in the queries' type
/// (f16 or bf16) or in fp8; for quantized tokens, a format that supports_quantization().
bool supports_decode_attention(const kv_layer& layer, number type, int heads);

/// What `rows` rows need at most. 0 for one split.
std::size_t decode_workspace_bytes(int rows, int heads, int head_dim, int splits);

/// How many splits keep that many multiprocessors busy with `rows` rows of at most `length` keys.
int suggested_splits(int rows, int kv_heads, std::int64_t length, int multiprocessors);

/// Blocks and splits for any number of rows whose keys are at most `length`. With both, a row's keys are cut by its
/// position alone, whatever the length.
inline constexpr int min_fixed_blocks = 4;
int fixed_splits(std::int64_t length);

/// Attention of each row's query over the keys and values of its slot at positions up to its own, which are in the
/// layer already and are read in place.
///
/// The launch depends on the counts alone: lengths and slots are read on the device. A row's keys are cut into blocks
/// of 64 positions from position 0 on, and the blocks that it attends to into at most `splits` equal parts. So its
/// result is bitwise independent of the other rows, for the same `splits` and `min_blocks`. One kernel does it all:
/// of the thread blocks that read a row's parts, the last to end puts them together, in their order. Scores and sums
/// are float32; probabilities are rounded to the numbers' type (f16 for fp8 or quantized keys and values) before they
/// are multiplied by values; quantized numbers are rounded to f16.
///
/// Throws std::invalid_argument for what is not supported, std::runtime_error if a kernel cannot be launched.
void decode_attention(const kv_layer& layer, const new_tokens& step, const decode_operands& operands,
                      cudaStream_t stream);

}  // namespace cogen::kernels::cuda
