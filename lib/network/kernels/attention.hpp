#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/token_rows.hpp"

#include <cstdint>
#include <span>

namespace cogen::kernels {

/// Strides count floats between tokens. out may be q.
struct attention_operands {
  strided_rows<const float> q = {};  // [tokens, heads, head_dim], rotated
  strided_rows<float> out = {};   // [tokens, heads, head_dim], of which the first value_dim() of the cache are written
  int heads = 0;                  // a multiple of the cache's kv_heads
  float scale = 1.0F;             // of q . k, usually 1 / sqrt(head_dim)
  float softcap = 0;              // scores become cap * tanh(score / cap) (Gemma Team, arXiv:2408.00118); 0: they stay
  const float* slopes = nullptr;  // [heads]: a score gets slope * (its key's position - the query's); null: none
  const float* sink_logits = nullptr;  // [heads]: a score beside those of the keys, without a value; null: none

  // [heads, 2 * max_distance + 1]: a score gets that of its key's position - the query's, which is cut to
  // [-max_distance, max_distance]; null: none.
  const float* distance_biases = nullptr;
  std::int64_t max_distance = 0;

  // q again, rotated to positions inside a cache with sinks; needed where a row's cache has some.
  strided_rows<const float> sink_q = {};
};

/// Attention of each row's queries over its own keys and values, read in place, within the
/// span of the cache's view.
///
/// Per query: scores and weighted values of each 64-token block from position 0, merged in order into spans of 256
/// tokens, and those merged in order, sinks before all (online softmax; Milakov and Gimelshein, arXiv:1805.02867). So a
/// query's result does not depend on other rows, on chunking, on where a shared prefix ends, on whether blocks
/// lie in a ring, or on threads. All rows share
/// kv_heads, head_dim and strides of the first row's view. Any thread; allocates a scratch once per thread.
void attention(const execution& run, std::span<const token_rows> rows, const attention_operands& operands);

}  // namespace cogen::kernels
