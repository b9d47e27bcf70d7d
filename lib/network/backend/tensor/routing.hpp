#pragma once

#include "network/backend/tensors.hpp"

namespace cogen::device {

/// The experts' shares, [rows, experts], by a router's logits [rows, logits]; the shared one's last. 0: not chosen.
at::Tensor shares_of(const at::Tensor& logits, const mixture_of_experts& moe);

}  // namespace cogen::device
