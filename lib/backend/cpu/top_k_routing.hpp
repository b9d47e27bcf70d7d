#pragma once

#include "backend/cpu/activations.hpp"

namespace cogen::cpu {

/// Turns each row of a router's logits [rows, experts] into the experts' shares in that row's result: softmax over all
/// experts for the `chosen` likeliest (of equal ones the first), 0 for the others. What is left is not scaled to sum to
/// 1. A row without a softmax (an infinite logit, NaN) becomes NaN.
/// Each row's shares depend on that row alone. `chosen` is at most the number of experts.
void choose_experts(const activations& logits, std::int64_t chosen);

}  // namespace cogen::cpu
