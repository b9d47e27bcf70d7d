#pragma once

#include "network/kernels/cache_layout.hpp"

#include <cstdint>

// Where codes, scales and minimums of one head's block of 64 tokens lie: in the order in which attention's warps take
// them (attention_tile.cuh), sixteen tokens at a time.
//
// A plane begins with its scales and minimums, f16. By channel: [64 / group][head_dim / 16][4 lanes], each four scales
// and then four minimums of neighboring dimensions. By token: [64][head_dim / 32], each a scale and a minimum.
//
// Then come the codes, [4 tiles][loads][32 lanes][words_at_once], so that each load of a warp is one piece of memory. A
// lane's words of a tile hold pairs of codes that go into one operand together, `16 / bits` to a word.
namespace cogen::kernels::cuda {

/// A lane's words of a tile.
constexpr int code_words(int head_dim, int bits) { return head_dim * bits / 64; }

/// How many of them are read at once.
constexpr int words_at_once(int words) { return words % 4 == 0 ? 4 : words % 2 == 0 ? 2 : 1; }

constexpr int pairs_in_word(int bits) { return 16 / bits; }

/// The lowest bit of a code: `side` 0 or 1 of a pair.
constexpr int code_shift(int bits, int pair, int side) {
  return bits == 8 ? 8 * (2 * pair + side) : bits * pair + 16 * side;
}

constexpr int scale_bytes(const quantized_format& format, int head_dim) {
  return static_cast<int>(quantized_scale_bytes(format, head_dim));
}

struct code_place {
  int token;  // of the block
  int dim;
};

/// A lane's pair `pair` (of head_dim / 4) of a tile holds these.
constexpr code_place key_of_pair(int tile, int lane, int pair, int side) {
  const int step = pair / 4, half = pair / 2 % 2;
  return {tile * 16 + half * 8 + lane / 4, step / 2 * 32 + lane % 4 * 8 + step % 2 * 4 + pair % 2 * 2 + side};
}
constexpr code_place value_of_pair(int tile, int lane, int pair, int side) {
  const int product = pair / 2;
  return {tile * 16 + pair % 2 * 8 + lane % 4 * 2 + side, product / 4 * 32 + lane / 4 * 4 + product % 4};
}

/// Bytes from the plane's scales to the scale of a dimension in a group of tokens; its minimum is 8 bytes further.
constexpr int channel_scale_at(int head_dim, int group, int dim) {
  const int step = dim / 32 * 2 + dim % 8 / 4, lane = dim % 32 / 8;
  return ((group * (head_dim / 16) + step) * 4 + lane) * 16 + dim % 4 * 2;
}

/// Bytes from the plane's scales to the scale and the minimum of a token's 32 dimensions.
constexpr int token_scale_at(int head_dim, int token, int dim) { return (token * (head_dim / 32) + dim / 32) * 4; }

/// Where one head's keys of a block begin; its values follow.
__device__ inline std::byte* quantized_head(const kv_layer& layer, std::int64_t slot, int block, int kv_head) {
  const quantized_blocks& quantized = layer.quantized;
  const std::int64_t index = quantized.ring > 0 ? block % quantized.ring : block;
  return quantized.blocks + slot * quantized.slot_stride +
         (index * layer.kv_heads + kv_head) * quantized_head_bytes(quantized, layer.head_dim);
}

}  // namespace cogen::kernels::cuda
