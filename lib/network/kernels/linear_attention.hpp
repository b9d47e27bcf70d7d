#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/token_rows.hpp"

#include <cstdint>
#include <span>

namespace cogen::kernels {

/// Attention through a state S of each head instead of all earlier tokens. For each token t and head h, with rank-one
/// updates by the outer product k v:
///
///   S = decay[t, h] * S
///   S = S + k[t] * rate[t, h] * (v[t, h] - S^T k[t])    with `delta`: Yang et al., arXiv:2412.06464, equation 10
///   S = S + k[t] * rate[t, h] * v[t, h]                 without: Dao and Gu, arXiv:2405.21060
///   out[t, h] = S^T q[t] + skip[h] * v[t, h]
///
/// Heads share queries and keys: head h has those of h / (heads / key_heads) or, if they are `tiled`, of h % key_heads.
/// Strides count floats between tokens. S lies in the rows' states, `state_offset` floats from their beginning:
/// [heads, key_width, value_width].
struct linear_attention_operands {
  strided_rows<const float> q = {};      // [tokens, key_heads, key_width]
  strided_rows<const float> k = {};      // [tokens, key_heads, key_width]
  strided_rows<const float> v = {};      // [tokens, heads, value_width]
  strided_rows<const float> decay = {};  // [tokens, heads]
  strided_rows<const float> rate = {};   // [tokens, heads]
  const float* skip = nullptr;           // [heads], or none: 0
  strided_rows<float> out = {};          // [tokens, heads, value_width]; may be v
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_width = 0;
  std::int64_t value_width = 0;
  bool tiled = false;
  bool delta = false;
  std::int64_t state_offset = 0;
};

/// Tokens are taken in one after the other and keys summed in ascending order: the same bits however a sequence's
/// tokens are cut into steps, in any batch, on any number of threads. Writes its part of every row's `final_state`
/// completely. Any thread; allocates nothing.
void linear_attention(const execution& run, std::span<const token_rows> rows,
                      const linear_attention_operands& operands);

/// For each token and head: step = log(1 + exp(x + bias)), decay = exp(step * rate). Strides count floats between
/// tokens.
struct head_decay_operands {
  strided_rows<const float> x;  // [tokens, heads]
  const float* bias = nullptr;  // [heads]
  const float* rate = nullptr;  // [heads]; negative
  strided_rows<float> step;     // [tokens, heads], or none; may be x
  strided_rows<float> decay;    // [tokens, heads]; without step it may be x
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
};

/// Each element's result depends on that element alone. Relative error of the exponential and of the logarithm about
/// 1e-7. Any thread.
void head_decay(const execution& run, const head_decay_operands& operands);

}  // namespace cogen::kernels
