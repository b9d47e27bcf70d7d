#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// The formats of numbers in device memory. fp8 is e4m3 (Micikevicius et al., arXiv:2209.05433): 448 at most, no
/// infinities.
enum class number : std::uint8_t { f32, f16, bf16, fp8 };

constexpr int bytes_of(number type) { return type == number::f32 ? 4 : type == number::fp8 ? 1 : 2; }

/// The new tokens of a step. Both arrays lie in device memory, so that a captured graph sees what is in them when it is
/// replayed; `count` is fixed with the launch. A slot below 0 marks a padding row.
struct step_tokens {
  const std::int32_t* slots = nullptr;      // [count]: whose token it is
  const std::int32_t* positions = nullptr;  // [count]: how many tokens that slot held before it
  int count = 0;
};

/// Keys and values of one layer, for all slots, in device memory.
///
/// Rows are token-major: those of token index i and key head h begin `slot * slot_stride + (i * kv_heads + h) *
/// head_dim * bytes_of(type)` bytes after `keys` and `values`. Both and slot_stride are multiples of 16.
///
/// A query at position q sees the keys at p <= q with p > q - window (window 0: no limit), and those with p < sinks in
/// any case. Its scores with the latter are taken with a query that is rotated to position min(q, sinks + window - 1)
/// instead (Xiao et al., StreamingLLM, arXiv:2309.17453).
struct kv_layer {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::int64_t slot_stride = 0;  // bytes
  number type = number::bf16;
  int kv_heads = 0;
  int head_dim = 0;
  int ring = 0;   // places for the tokens behind the sinks; 0: one for each position. At least 16, and what is seen
  int sinks = 0;  // only with a window
  int window = 0;
};

/// The token index at which a position's key and value lie.
constexpr std::int64_t index_of(const kv_layer& layer, std::int64_t position) {
  if (layer.ring == 0 || position < layer.sinks) return position;
  return layer.sinks + (position - layer.sinks) % layer.ring;
}

}  // namespace cogen::kernels::cuda
