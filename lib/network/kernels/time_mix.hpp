#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/token_rows.hpp"

#include <cstdint>
#include <span>

namespace cogen::kernels {

/// RWKV's attention (Peng et al., arXiv:2305.13048, equations 19 to 26), gated. For each token t and channel c, with
/// the sums n of weighted values and d of weights relative to the exponent m, where e^-inf is 0:
///
///   out[t, c] = (e^m * n + e^(first[c] + k[t, c]) * v[t, c]) / (e^m * d + e^(first[c] + k[t, c])) / (1 + e^-gate[t,
///   c]) e^m n = e^(m + decay[c]) * n + e^k[t, c] * v[t, c] e^m d = e^(m + decay[c]) * d + e^k[t, c]
///
/// m is the largest exponent, so that no exponential overflows and d is at least 1 once there was a token. Strides
/// count floats between tokens. n, d and m lie in the rows' states, `state_offset` floats from their beginning: [3,
/// channels]. Where d is 0, there was no token, and m is -inf whatever lies there.
struct time_mix_operands {
  strided_rows<const float> k;     // [tokens, channels]
  strided_rows<const float> v;     // [tokens, channels]
  strided_rows<const float> gate;  // [tokens, channels]
  const float* decay = nullptr;    // [channels]; negative
  const float* first = nullptr;    // [channels]
  strided_rows<float> out;         // [tokens, channels]; may be k, v or gate
  std::int64_t channels = 0;
  std::int64_t state_offset = 0;
};

/// Tokens are taken in one after the other: the same bits however a sequence's tokens are cut into steps, in any batch,
/// on any number of threads. Relative error of the exponential about 1e-7. Writes its part of every row's `final_state`
/// completely. Any thread; allocates nothing.
void time_mix(const execution& run, std::span<const token_rows> rows, const time_mix_operands& operands);

}  // namespace cogen::kernels
