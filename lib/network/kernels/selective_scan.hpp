#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/token_rows.hpp"

#include <cstdint>
#include <span>

namespace cogen::kernels {

/// The selective scan of a state-space model (Gu and Dao, arXiv:2312.00752, algorithm 2), gated. For each token t and
/// channel c, with d = log(1 + exp(step[t, c])):
///
///   h[n, c] = exp(d * decay[n, c]) * h[n, c] + d * x[t, c] * b[t, n]
///   out[t, c] = (sum over n of h[n, c] * c[t, n] + skip[c] * x[t, c]) * silu(gate[t, c])
///
/// Strides count floats between tokens. h lies in the rows' states, `state_offset` floats from their beginning:
/// [states, channels], so that neighboring channels are neighbors in memory.
struct selective_scan_operands {
  strided_rows<const float> x;     // [tokens, channels]
  strided_rows<const float> gate;  // [tokens, channels]
  strided_rows<const float> step;  // [tokens, channels]
  strided_rows<const float> b;     // [tokens, states]
  strided_rows<const float> c;     // [tokens, states]
  const float* decay = nullptr;    // [states, channels]; negative
  const float* skip = nullptr;     // [channels]
  strided_rows<float> out;         // [tokens, channels]; may be x, gate or step
  std::int64_t channels = 0;
  int states = 0;
  std::int64_t state_offset = 0;
};

/// Tokens are scanned one after the other and states summed in ascending order: the same bits however a sequence's
/// tokens are cut into steps, in any batch, on any number of threads. Relative error of the exponential and of the
/// logarithm about 1e-7. Writes its part of every row's `final_state` completely. Any thread; allocates nothing.
void selective_scan(const execution& run, std::span<const token_rows> rows, const selective_scan_operands& operands);

}  // namespace cogen::kernels
