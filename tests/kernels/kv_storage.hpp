#pragma once

#include "network/kernels/convert.hpp"

#include <cogen/detail/cache/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::kernels {

/// One sequence's keys and values in blocks, as the cache lays them out, keys [block][kv_head][head_dim][64] before
/// values [block][kv_head][64][head_dim]. With a base, positions below it lie in a storage of their own; the tail's is
/// filled with NaN there, and every byte that no token was written to is NaN. Where `ring` is not 0, only the last
/// `ring` blocks behind the base have a place.
class kv_storage {
 public:
  kv_storage(cache::scalar type, int kv_heads, int head_dim, std::int64_t length, std::int64_t base = 0,
             std::int64_t ring = 0)
      : size_(cache::bytes_of(type)),
        parent_memory_(static_cast<std::size_t>(blocks(base) * block_bytes(kv_heads, head_dim)), std::byte{0xff}),
        tail_memory_(static_cast<std::size_t>((ring ? ring : blocks(length)) * block_bytes(kv_heads, head_dim)),
                     std::byte{0xff}) {
    view_.type = type;
    view_.kv_heads = kv_heads;
    view_.head_dim = head_dim;
    view_.head_stride = std::int64_t{cache::block_tokens} * head_dim * size_;
    view_.value_offset = view_.head_stride * kv_heads;
    view_.block_stride = 2 * view_.value_offset;
    if (base > 0) view_.range[view_.ranges++] = {parent_memory_.data(), 0, std::min(base, length)};
    const std::int64_t begin = ring ? std::max(base, (blocks(length) - ring) * 64) : base;
    if (length > base) view_.range[view_.ranges++] = {tail_memory_.data(), begin, length, ring, base / 64};
  }

  const cache::kv_view& view() const { return view_; }

  /// The key (value) as float32, read back by the view's own definition.
  float get(bool value, std::int64_t position, int head, int dim) const {
    const std::byte* source = place(value, position, head, dim);
    if (view_.type == cache::scalar::f32) return *reinterpret_cast<const float*>(source);
    const auto bits = *reinterpret_cast<const std::uint16_t*>(source);
    return view_.type == cache::scalar::f16 ? f16_to_float(bits) : bf16_to_float(bits);
  }

  void set(bool value, std::int64_t position, int head, int dim, float number) {
    std::byte* target = place(value, position, head, dim);
    if (view_.type == cache::scalar::f32) {
      *reinterpret_cast<float*>(target) = number;
    } else {
      *reinterpret_cast<std::uint16_t*>(target) =
          view_.type == cache::scalar::f16 ? float_to_f16(number) : float_to_bf16(number);
    }
  }

 private:
  static std::int64_t blocks(std::int64_t length) { return (length + 63) / 64; }
  std::int64_t block_bytes(int kv_heads, int head_dim) const {
    return std::int64_t{2} * kv_heads * cache::block_tokens * head_dim * size_;
  }

  std::byte* place(bool value, std::int64_t position, int head, int dim) const {
    const cache::kv_range& range = view_.range[view_.ranges > 1 && position >= view_.range[1].begin ? 1 : 0];
    const std::int64_t block = range.ring ? (position / 64 - range.first) % range.ring : position / 64;
    const std::int64_t number = value ? position % 64 * view_.head_dim + dim : dim * 64 + position % 64;
    return range.data + block * view_.block_stride + (value ? view_.value_offset : 0) + head * view_.head_stride +
           number * size_;
  }

  int size_;
  std::vector<std::byte> parent_memory_;
  std::vector<std::byte> tail_memory_;
  cache::kv_view view_;
};

inline constexpr cache::scalar all_scalars[] = {cache::scalar::f32, cache::scalar::f16, cache::scalar::bf16};

}  // namespace cogen::kernels
