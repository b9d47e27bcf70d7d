#pragma once

#include "network/backend/tensors.hpp"

namespace cogen::device {

/// Of each row of x, in float32.
at::Tensor normed(const at::Tensor& x, const norm& params);

/// Each `width` neighbors by themselves, with weights of their own.
at::Tensor normed(const at::Tensor& x, const head_norm& norms);

}  // namespace cogen::device
