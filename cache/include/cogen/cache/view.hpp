#pragma once

#include <cogen/cache/attention_span.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cogen::cache {

class codec;

/// How many tokens one block of a slot's storage holds. Attention reduces block by block from position 0, so this is
/// part of what makes a sequence's logits independent of its company.
inline constexpr int block_tokens = 64;

/// The number format in which keys and values are kept.
enum class scalar : std::uint8_t {
  f32,
  f16,
  bf16,
  fp8,  ///< e4m3 (Micikevicius et al., arXiv:2209.05433), kept on a device alone
};

constexpr int bytes_of(scalar type) { return type == scalar::f32 ? 4 : type == scalar::fp8 ? 1 : 2; }

/// Tokens [begin, end) of one slot in one layer, where they lie in memory. `begin` is a multiple of 64.
///
/// The block of position p lies at `data + b * block_stride` with b = p / 64, or, where `ring` is not 0, b = (p / 64 -
/// first) % ring: places repeat then, and of the tokens that share a place the last one written is there.
struct kv_range {
  std::byte* data = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t ring = 0;
  std::int64_t first = 0;
};

/// Where block `number` of a slot begins, `ranges` being the slot's, one before the other.
inline std::byte* block_at(std::span<const kv_range> ranges, std::int64_t number, std::int64_t block_stride) {
  const kv_range& range = ranges.size() > 1 && number * block_tokens >= ranges[0].end ? ranges[1] : ranges[0];
  return range.data + (range.ring > 0 ? (number - range.first) % range.ring : number) * block_stride;
}

/// The number of full blocks at the start of a sequence that are read packed by the query which is token number
/// `length` (its position + 1), times 64. It depends on nothing else, so that chunks and whole prompts agree.
constexpr std::int64_t quantized_tokens(std::int64_t length, std::int64_t residual) {
  return length > residual ? (length - residual) / block_tokens * block_tokens : 0;
}

/// How the packed keys, or values, of one head's block are to be read: by `unpack`, or, where `bits` is not 0, as they
/// lie: rows of codes (a row is one dimension of keys, or one token of values), `number = minimum + code * scale`.
/// Scales are at the block's start, minimums and codes at these offsets; codec.hpp has the details.
struct quantized_plane {
  const codec* how = nullptr;
  void (*dequantize)(const codec& how, const std::byte* quantized, int head_dim, float* values) = nullptr;
  int bits = 0;
  bool along_rows = false;  ///< groups lie along rows, not across them
  int group = 0;
  int groups = 0;  ///< of one row
  int row_bytes = 0;
  std::int64_t minimums = 0;
  std::int64_t codes = 0;
};

/// The tokens of a slot that are kept packed, beside the newest ones in full precision. A query reads block b here if
/// 64 (b + 1) <= quantized_tokens(its position + 1, residual), and in full precision otherwise. Nothing is packed where
/// keys.how is null.
///
/// In each block the keys of head h begin `h * key_bytes` bytes after the block, its values `value_offset + h *
/// value_bytes` bytes after it, each as its codec packs 64 tokens of one head.
struct quantized_view {
  quantized_plane keys;
  quantized_plane values;
  std::int64_t block_stride = 0;
  std::int64_t key_bytes = 0;
  std::int64_t value_bytes = 0;
  std::int64_t value_offset = 0;
  int residual = 0;
  int ranges = 0;
  kv_range range[2];

  std::byte* block(std::int64_t number) const {
    return block_at({range, static_cast<std::size_t>(ranges)}, number, block_stride);
  }
};

/// What attention reads for one slot of one layer: at most two ranges, one before the other, where they lie in memory.
/// Positions from the slot's length on may be written; nothing else may.
///
/// A head's keys are dimension by dimension, [head_dim][64] in each block, as a query is held against them; its values
/// are token by token, [64][head_dim]. With the view's strides, all in bytes, the keys of head h begin `h *
/// head_stride` bytes after their block, and its values `value_offset` bytes after its keys.
///
/// Plain pointers: valid until the cache is truncated, cleared or destroyed; no thread owns them.
struct kv_view {
  scalar type = scalar::f32;
  int kv_heads = 0;
  int head_dim = 0;
  attention_span span;
  std::int64_t block_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t value_offset = 0;
  int ranges = 0;
  kv_range range[2];
  quantized_view quantized;

  std::byte* block(std::int64_t number) const {
    return block_at({range, static_cast<std::size_t>(ranges)}, number, block_stride);
  }

  /// Where the key of a position begins, one number; its next dimension is block_tokens numbers further.
  std::byte* key(std::int64_t position, int head) const {
    return block(position / block_tokens) + head * head_stride + position % block_tokens * bytes_of(type);
  }
  /// Where the value of a position begins, head_dim numbers.
  std::byte* value(std::int64_t position, int head) const {
    return block(position / block_tokens) + value_offset + head * head_stride +
           position % block_tokens * head_dim * bytes_of(type);
  }
};

}  // namespace cogen::cache
