#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// The new tokens of a step by their sequences: first rows of a single token, then prompts. The arrays are in device
/// memory, so a captured graph reads what they hold when it is replayed; the counts are fixed with the launch.
struct sequence_rows {
  const std::int32_t* slots = nullptr;          // [tokens]: the slot of each token; below 0: padding
  const std::int32_t* positions = nullptr;      // [tokens]: how many tokens that slot held before it
  int single = 0;                               // rows of a single token
  const std::int32_t* prompt_starts = nullptr;  // [prompts + 1]: counted from the first of their tokens
  int prompts = 0;
};

/// The states of one layer: those of slot s begin s * slot_stride floats after `states`, [.., channels]. A sequence's
/// state is updated in place; zeros stand for that of an empty slot.
struct slot_states {
  float* states = nullptr;
  std::int64_t slot_stride = 0;
};

/// What kernels::causal_convolution_operands says, on a device.
struct causal_convolution_operands {
  const void* x = nullptr;  // [tokens, channels]
  std::int64_t x_stride = 0;
  const float* weight = nullptr;  // [taps, channels], oldest first
  const float* bias = nullptr;    // [channels], or none
  slot_states inputs;             // [taps - 1, channels], oldest first
  void* out = nullptr;            // [tokens, channels], one row after the other
  number type = number::bf16;     // of x and out: f16 or bf16; arithmetic is in float32
  int channels = 0;
  int taps = 1;  // at most 8
};

/// Padding gets zeros. Each sequence's result depends on that sequence alone. Throws std::invalid_argument for operands
/// that are not as said above, std::runtime_error if the kernel cannot be launched.
void causal_convolution(const sequence_rows& rows, const causal_convolution_operands& operands, cudaStream_t stream);

/// What kernels::selective_scan_operands says, on a device.
struct selective_scan_operands {
  const void* x = nullptr;     // [tokens, channels], one row after the other
  const void* gate = nullptr;  // [tokens, channels]
  std::int64_t gate_stride = 0;
  const float* step = nullptr;  // [tokens, channels], one row after the other
  const float* b = nullptr;     // [tokens, states]
  const float* c = nullptr;     // [tokens, states]
  std::int64_t bc_stride = 0;
  const float* decay = nullptr;  // [states, channels]; negative
  const float* skip = nullptr;   // [channels]
  slot_states h;                 // [states, channels]
  void* out = nullptr;           // [tokens, channels]
  std::int64_t out_stride = 0;
  number type = number::bf16;  // of x, gate and out: f16 or bf16; arithmetic is in float32
  int channels = 0;
  int states = 0;  // at most 64
};

/// As causal_convolution().
void selective_scan(const sequence_rows& rows, const selective_scan_operands& operands, cudaStream_t stream);

}  // namespace cogen::kernels::cuda
