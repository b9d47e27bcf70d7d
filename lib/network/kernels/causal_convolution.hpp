#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/token_rows.hpp"

#include <cstdint>
#include <span>

namespace cogen::kernels {

/// out[t] = f(bias + sum over taps j of weight[j] * x[t - (taps - 1) + j]), each channel by itself, where f is silu or
/// nothing: the short convolution in front of a selective scan (Gu and Dao, arXiv:2312.00752). Strides count floats
/// between tokens.
///
/// Tokens before the step come from the rows' states, where the last taps - 1 inputs of each sequence lie, oldest
/// first: [taps - 1, channels], `state_offset` floats from the state's beginning; zeros stand for tokens before the
/// first.
struct causal_convolution_operands {
  strided_rows<const float> x;    // [tokens, channels]
  const float* weight = nullptr;  // [taps, channels], oldest first
  const float* bias = nullptr;    // [channels], or none
  strided_rows<float> out;        // [tokens, channels]; does not overlap x
  std::int64_t channels = 0;
  int taps = 1;
  bool silu = true;
  std::int64_t state_offset = 0;
};

/// Taps are added oldest first: bitwise independent of how a sequence's tokens are cut into steps, of other rows,
/// and of the number of threads. Writes its part of every row's `final_state` completely. Any thread; allocates
/// nothing.
void causal_convolution(const execution& run, std::span<const token_rows> rows,
                        const causal_convolution_operands& operands);

}  // namespace cogen::kernels
