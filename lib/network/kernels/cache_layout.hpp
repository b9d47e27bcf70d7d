#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

namespace cogen::kernels::cuda {

/// The formats of numbers in device memory. fp8 is e4m3 (Micikevicius et al., arXiv:2209.05433): 448 at most, no
/// infinities.
enum class number : std::uint8_t { f32, f16, bf16, fp8 };

constexpr int bytes_of(number type) { return type == number::f32 ? 4 : type == number::fp8 ? 1 : 2; }

/// The new tokens of a step. Both arrays are in device memory, so a captured graph reads what they hold when it is
/// replayed; `count` is fixed with the launch. A slot below 0 marks a padding row.
struct new_tokens {
  const std::int32_t* slots = nullptr;      // [count]: the slot of each token
  const std::int32_t* positions = nullptr;  // [count]: how many tokens that slot held before it
  int count = 0;
};

/// How keys, or values, are quantized: codes of `bits` bits, and for each group of numbers a scale and a minimum in
/// f16, `number = minimum + code * scale`, chosen and rounded as cogen::cache::make_group_codec() says.
struct quantized_format {
  int bits = 0;             // 8, 4 or 2; 0: not quantized
  bool by_channel = false;  // a group is one dimension of `group` tokens; otherwise `group` dimensions of one token
  int group = 32;           // 32 or 64
};

/// The quantized tokens of a layer, in blocks of 64; the newest are in full precision, too. The query
/// that is token number n of its slot reads block b here if 64 (b + 1) <= quantized_tokens(n, residual).
///
/// Block b of a slot and key head h begin `slot * slot_stride + (b * kv_heads + h) * quantized_head_bytes()` bytes
/// after `blocks`, b being taken modulo `ring` where that is not 0. Both are multiples of 16.
struct quantized_blocks {
  std::byte* blocks = nullptr;
  std::int64_t slot_stride = 0;  // bytes
  quantized_format keys;         // by channel or by token
  quantized_format values;       // by token
  int residual = 128;
  int ring = 0;  // blocks; with a window
};

/// Keys and values of one layer, for all slots, in device memory.
///
/// Rows are token-major: those of token index i and key head h begin `slot * slot_stride + (i * kv_heads + h) *
/// head_dim * bytes_of(type)` bytes after `keys` and `values`. Both and slot_stride are multiples of 16.
///
/// A query at position q attends to the keys at p <= q with p > q - window (window 0: no limit), and always those with
/// p < sinks. Its scores with the latter are taken with a query that is rotated to position min(q, sinks + window - 1)
/// instead (Xiao et al., StreamingLLM, arXiv:2309.17453).
struct kv_layer {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::int64_t slot_stride = 0;  // bytes
  number type = number::bf16;
  int kv_heads = 0;
  int head_dim = 0;
  int ring = 0;   // places for the tokens behind the sinks; 0: one for each position. At least 16, and what is seen
  int sinks = 0;  // only with a window, and not with quantized tokens
  int window = 0;

  /// With quantized tokens, the rows above are the newest ones only: `ring` is then a multiple of 64, and at least
  /// residual + 64 + the most tokens of a slot in one step.
  quantized_blocks quantized = {};
};

/// How many tokens at the start of a slot the query that is token number `length` reads quantized.
constexpr std::int64_t quantized_tokens(std::int64_t length, std::int64_t residual) {
  return length > residual ? (length - residual) / 64 * 64 : 0;
}

/// Bytes of the scales and minimums of one head's keys, or values, in a block of 64 tokens. Those by token are stored
/// for every 32 dimensions.
constexpr std::int64_t quantized_scale_bytes(const quantized_format& format, int head_dim) {
  return std::int64_t{4} * (format.by_channel ? 64 / format.group * head_dim : 64 * (head_dim / 32));
}

/// Bytes of all: scales and minimums, then codes.
constexpr std::int64_t quantized_plane_bytes(const quantized_format& format, int head_dim) {
  return quantized_scale_bytes(format, head_dim) + std::int64_t{8} * head_dim * format.bits;
}

/// Bytes of one head's keys and values in a block: first the keys, then the values.
constexpr std::int64_t quantized_head_bytes(const quantized_blocks& quantized, int head_dim) {
  return quantized_plane_bytes(quantized.keys, head_dim) + quantized_plane_bytes(quantized.values, head_dim);
}

/// The token index at which a position's key and value lie.
constexpr std::int64_t index_of(const kv_layer& layer, std::int64_t position) {
  if (layer.ring == 0 || position < layer.sinks) return position;
  return layer.sinks + (position - layer.sinks) % layer.ring;
}

}  // namespace cogen::kernels::cuda
