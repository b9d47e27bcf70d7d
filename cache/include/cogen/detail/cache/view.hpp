#pragma once

#include <cogen/detail/cache/attention_span.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cogen::cache {

class codec;

/// Tokens in one block of a slot's storage. Attention reduces block by block from position 0, so a sequence's logits do
/// not depend on the rest of the batch.
inline constexpr int block_tokens = 64;

/// The number format of keys and values.
enum class scalar : std::uint8_t {
  f32,
  f16,
  bf16,
  fp8,  ///< e4m3 (Micikevicius et al., arXiv:2209.05433), only on a GPU
};

constexpr int bytes_of(scalar type) { return type == scalar::f32 ? 4 : type == scalar::fp8 ? 1 : 2; }

/// Tokens [begin, end) of one slot in one layer, where they lie in memory. `begin` is a multiple of 64.
///
/// The block of position p lies at `data + b * block_stride` with b = p / 64, or, if `ring` is not 0, b = (p / 64 -
/// first) % ring. In a ring, places repeat, and each holds the token last written there.
struct kv_range {
  std::byte* data = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t ring = 0;
  std::int64_t first = 0;
};

/// Where block `number` of a slot begins. `ranges` are the slot's, in order of position.
inline std::byte* block_at(std::span<const kv_range> ranges, std::int64_t number, std::int64_t block_stride) {
  const kv_range& range = ranges.size() > 1 && number * block_tokens >= ranges[0].end ? ranges[1] : ranges[0];
  return range.data + (range.ring > 0 ? (number - range.first) % range.ring : number) * block_stride;
}

/// The number of full blocks at the start of a sequence, times 64, that a query reads quantized when it is token number
/// `length` (its position + 1). It depends on nothing else, so chunked and whole prompts agree.
constexpr std::int64_t quantized_tokens(std::int64_t length, std::int64_t residual) {
  return length > residual ? (length - residual) / block_tokens * block_tokens : 0;
}

/// How to read the quantized keys, or values, of one head's block: by `dequantize`, or, if `bits` is not 0, directly as
/// rows of codes, four together (a row is one dimension of keys, or one token of values), `number = minimum + code *
/// scale`. Scales are at the block's start, minimums and codes at these offsets; see make_group_codec().
struct quantized_plane {
  const codec* quantizer = nullptr;
  /// Writes the numbers of one head's block, [64, head_dim], to `values`.
  void (*dequantize)(const codec& quantizer, const std::byte* quantized, int head_dim, float* values) = nullptr;

  int bits = 0;
  bool along_rows = false;  ///< groups go along rows, not across them
  int group = 0;
  int rows = 0;
  int row_bytes = 0;
  std::int64_t minimums = 0;
  std::int64_t codes = 0;
};

/// The quantized tokens of a slot; the newest are in full precision, too. A query reads block b here if 64 (b + 1) <=
/// quantized_tokens(its position + 1, residual), and in full precision otherwise. Without keys.quantizer nothing is
/// quantized.
///
/// In each block the keys of head h begin `h * key_bytes` bytes after the block, its values `value_offset + h *
/// value_bytes` bytes after it, each as its codec quantizes 64 tokens of one head.
struct quantized_view {
  quantized_plane keys = {};
  quantized_plane values = {};
  std::int64_t block_stride = 0;
  std::int64_t key_bytes = 0;
  std::int64_t value_bytes = 0;
  std::int64_t value_offset = 0;
  int residual = 0;
  int ranges = 0;
  kv_range range[2] = {};

  /// Where block `number` begins.
  std::byte* block(std::int64_t number) const {
    return block_at({range, static_cast<std::size_t>(ranges)}, number, block_stride);
  }
};

/// What attention reads for one slot of one layer: at most two ranges, in order of position. Only positions from the
/// slot's length on may be written.
///
/// In each block a head's keys are stored by dimension, [head_dim][64], and its values by token, [64][head_dim]. With
/// the view's strides, all in bytes, the keys of head h begin `h * head_stride` bytes after their block, and its values
/// `value_offset` bytes after its keys. With a `latent_dim` the values are the first so many dimensions of the keys,
/// and only keys are stored, quantized ones, too.
///
/// Plain pointers, valid until the cache is truncated, cleared or destroyed; usable on any thread.
struct kv_view {
  scalar type = scalar::f32;
  int kv_heads = 0;
  int head_dim = 0;
  int latent_dim = 0;
  attention_span span = {};
  std::int64_t block_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t value_offset = 0;
  int ranges = 0;
  kv_range range[2] = {};
  quantized_view quantized = {};

  int value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }

  /// Of the keys and values in one block.
  std::int64_t block_bytes() const { return latent_dim > 0 ? value_offset : 2 * value_offset; }

  /// Where block `number` begins.
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
