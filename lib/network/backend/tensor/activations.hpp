#pragma once

#include "network/backend/parts.hpp"

#include <ATen/core/Tensor.h>

namespace cogen::device {

/// A feed-forward's function of its product, which is of gate | up if it is gated. Float32
at::Tensor activated(const at::Tensor& product, const parts::activation& function);

}  // namespace cogen::device
