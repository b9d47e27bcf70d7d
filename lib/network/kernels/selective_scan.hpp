#pragma once

#include "network/kernels/execution.hpp"
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
  const float* x = nullptr;  // [tokens, channels]
  std::int64_t x_stride = 0;
  const float* gate = nullptr;  // [tokens, channels]
  std::int64_t gate_stride = 0;
  const float* step = nullptr;  // [tokens, channels]
  std::int64_t step_stride = 0;
  const float* b = nullptr;  // [tokens, states]
  const float* c = nullptr;  // [tokens, states]
  std::int64_t bc_stride = 0;
  const float* decay = nullptr;  // [states, channels]; negative
  const float* skip = nullptr;   // [channels]
  float* out = nullptr;          // [tokens, channels]; may be x, gate or step
  std::int64_t out_stride = 0;
  std::int64_t channels = 0;
  int states = 0;
  std::int64_t state_offset = 0;
};

/// Tokens are scanned one after the other and states summed in ascending order: the same bits however a sequence's
/// tokens are cut into steps, in any batch, on any number of threads. Relative error of the exponential and of the
/// logarithm about 1e-7. Writes its part of every row's `final_state` completely. Any thread; allocates nothing.
void selective_scan(const execution& run, std::span<const token_rows> rows, const selective_scan_operands& operands);

}  // namespace cogen::kernels
