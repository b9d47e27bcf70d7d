#pragma once

#include "backend/operators.hpp"

namespace cogen::device {

/// The convolution of x [tokens, channels] behind the inputs `kept` [taps - 1, channels], which become its last ones.
at::Tensor convolved(const at::Tensor& x, const convolution& by, const at::Tensor& kept);

/// What a mixer makes of one token, from and to its slot's state [numbers]: [1, out_width].
at::Tensor mixed(const mixer_rows& rows, const mixer& by, const at::Tensor& state);

}  // namespace cogen::device
