#pragma once

#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/detail/cache/snapshot_codec.hpp>
#include <cogen/detail/cache/view.hpp>
#include <cogen/extend/kv_codec.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::cache {

/// Where one layer lies within every block: its keys at `offset`, [kv_head] of `head_stride` bytes each, its values
/// `value_offset` bytes after them, [kv_head] of `value_head_stride`, all in bytes. In full precision a head's keys are
/// [head_dim][64] and its values [64][head_dim]. Where values are the first dimensions of keys, their stride is 0.
struct block_part {
  std::int64_t offset = 0;
  std::int64_t head_stride = 0;
  std::int64_t value_offset = 0;
  std::int64_t value_head_stride = 0;
  int kv_heads = 0;
  int head_dim = 0;
};

/// One block: 64 tokens of several layers, [layer][k|v][kv_head], rounded up to whole pages.
struct block_layout {
  std::vector<block_part> parts;  // [layers]
  std::int64_t stride = 0;
};

block_layout lay_out(std::span<const kv_cache_spec> shapes, scalar type);

/// The same with every head quantized.
block_layout lay_out(std::span<const kv_cache_spec> shapes, const codec& keys, const codec& values);

/// Appends the runs of one block in full precision that holds `tokens` tokens.
void append_block(std::vector<exported_run>& runs, const block_layout& layout, scalar type, int tokens = block_tokens);

/// Copies tokens [begin, end) of one block in full precision to another.
void copy_tokens(const block_layout& layout, const std::byte* source, std::byte* target, int begin, int end);

/// Blocks that hold `tokens` tokens.
constexpr int blocks_for(int tokens) { return tokens / block_tokens + (tokens % block_tokens != 0); }

}  // namespace cogen::cache
