#pragma once

#include <cstddef>
#include <cstdint>

namespace cogen::cache {

/// How many tokens one block of a slot's storage holds. Attention reduces block by block from position 0, so this is
/// part of what makes a sequence's logits independent of its company.
inline constexpr int block_tokens = 64;

/// The number format in which keys and values are kept.
enum class scalar : std::uint8_t { f32, f16, bf16 };

constexpr int bytes_of(scalar type) { return type == scalar::f32 ? 4 : 2; }

/// Tokens [begin, end) of one slot in one layer, where they lie in memory. `begin` is a multiple of 64.
///
/// With the view's strides, all in bytes, the keys of position p and key head h begin at
/// `data + p / 64 * block_stride + h * head_stride + p % 64 * head_dim * bytes_of(type)`; the values lie `value_offset`
/// bytes further.
struct kv_range {
  std::byte* data = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What attention reads for one slot of one layer: at most two ranges without a gap, the base (if any) before the
/// slot's own tail. Positions from the slot's length on lie in the last range and may be written; nothing else may.
///
/// Plain pointers: valid until the cache is truncated, cleared or destroyed; no thread owns them.
struct kv_view {
  scalar type = scalar::f32;
  int kv_heads = 0;
  int head_dim = 0;
  std::int64_t block_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t value_offset = 0;
  int ranges = 0;
  kv_range range[2];
};

}  // namespace cogen::cache
