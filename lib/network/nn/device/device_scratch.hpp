#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace cogen::nn {

/// The intermediate tensors of forwards of up to a number of tokens. Their addresses never change.
struct device_scratch {
  at::Tensor x;          // [tokens, hidden] float32
  at::Tensor weighted;   // [max_begun_rows at most, hidden], of norm_input
  at::Tensor squares;    // [the same, hidden / squared_numbers] float32
  at::Tensor qkv;        // [tokens, (heads + 2 kv_heads) * head_dim], or what goes into a recurrent mixer
  at::Tensor sink_q;     // [tokens, heads * head_dim], where a cache has sinks
  at::Tensor attended;   // [tokens, heads * head_dim]
  at::Tensor mixed;      // [tokens, channels], what comes out of a recurrent mixer
  at::Tensor decisions;  // [tokens, decisions] float32, of recurrent mixers
  at::Tensor gated;      // [tokens, intermediate]
  at::Tensor routed;     // [tokens, hidden] float32, rows that experts read
  at::Tensor shares;     // [tokens, experts] float32
  at::Tensor joined;     // [tokens, hidden] float32, the sum of blocks that are normed together, or what is passed on
  at::Tensor inputs;     // [tokens, columns] float32, the tokens' vectors for all layers
  at::Tensor streams;    // [tokens, columns] float32, all streams of hidden states
  at::Tensor wide;       // [tokens, 2 * hidden] float32, x | embeddings
  at::Tensor partial;    // [tokens, hidden] float32, what other ranks' numbers are added to

  /// Its first rows.
  device_scratch first(std::int64_t tokens) const;

  std::int64_t bytes() const noexcept;
};

}  // namespace cogen::nn
