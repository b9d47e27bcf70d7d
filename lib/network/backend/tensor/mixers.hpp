#pragma once

#include "network/backend/operators.hpp"

#include <vector>

namespace cogen::device {

// Of several sequences at once, with as many new tokens each.

/// The convolution of x [sequences, tokens, channels] behind the inputs `kept` [sequences, taps - 1, channels], which
/// become its last ones.
at::Tensor convolved(const at::Tensor& x, const convolution& conv, const at::Tensor& kept);

/// What a convolution keeps of a state [sequences, numbers], which begins with it.
at::Tensor kept_inputs(const at::Tensor& state, const convolution& conv);

/// kernels::time_mix() of k, v and gate [sequences, tokens, channels], from and to the state [sequences, 3, channels].
at::Tensor averaged(const std::vector<at::Tensor>& kvg, const time_mix& part, const at::Tensor& state);

/// What a mixer makes of rows [sequences, tokens, …], from and to their states [sequences, numbers]: [sequences,
/// tokens, out_width].
at::Tensor mixed(const mixer_rows& rows, const mixer& part, const at::Tensor& states);

}  // namespace cogen::device
