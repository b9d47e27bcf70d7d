#pragma once

#include <cogen/cache/layer_shape.hpp>
#include <cogen/cache/view.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace cogen::cache {

/// Where one layer lies within every block: its keys at `offset`, [kv_head][64][head_dim], its values right after them.
/// All in bytes.
struct block_part {
  std::int64_t offset = 0;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t value_offset = 0;
  int kv_heads = 0;
};

/// One block: 64 tokens of several layers, [layer][k|v][kv_head][64][head_dim], rounded up to whole pages.
struct block_layout {
  std::vector<block_part> parts;  // [layers]
  std::int64_t stride = 0;
};

block_layout lay_out(std::span<const layer_shape> shapes, scalar type);

/// Blocks that hold `tokens` tokens.
constexpr int blocks_for(int tokens) { return tokens / block_tokens + (tokens % block_tokens != 0); }

}  // namespace cogen::cache
