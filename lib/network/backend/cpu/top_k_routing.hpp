#pragma once

#include "network/models/model_spec.hpp"

#include <span>

namespace cogen::cpu {

/// Turns a row of a router's logits [experts] into the experts' shares in that row's result; 0: not chosen. Of equally
/// good ones the first is chosen. A row without scores (NaN, or a softmax of an infinite logit) becomes NaN for as many
/// experts as are chosen. `choice_bias` is [experts] or empty; `scratch` [2 * experts] is written.
void choose_experts(const models::moe_spec& spec, std::span<const float> choice_bias, std::span<float> row,
                    std::span<float> scratch);

}  // namespace cogen::cpu
