#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/model_spec.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace cogen::models {

/// What a family's configurations mean where they leave sizes out.
struct mixture_defaults {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;  ///< 0: they must be given
  std::int64_t width = 0;  ///< of an expert; 0: that of the model's other feed-forwards
  std::int64_t groups = 1;
  std::int64_t top_groups = 1;
  double scale = 1;         ///< of shares
  std::int64_t shared = 1;  ///< experts for all rows
};

/// Experts like Llama's feed-forward without biases, of the sizes in the fields; the router is called "gate". Throws
/// load::load_error.
moe_spec mixture(const load::config_fields& fields, const load::model_config& config, const mixture_defaults& missing);

/// The same as DeepSeek-V3 has them (Liu et al., arXiv:2412.19437): chosen by sigmoids and a bias, among groups, beside
/// some for all rows, which are one feed-forward.
moe_spec sigmoid_mixture(const load::config_fields& fields, const load::model_config& config,
                         const mixture_defaults& missing);

/// The same as DeepSeek-V2 has them (DeepSeek-AI, arXiv:2405.04434): chosen by a softmax, among groups by the best
/// expert of each if they are `grouped`.
moe_spec softmax_mixture(const load::config_fields& fields, const load::model_config& config,
                         const mixture_defaults& missing, bool grouped);

/// A Llama's feed-forward of that width, with names that follow the prefix.
mlp_spec gated_mlp(const load::model_config& config, std::int64_t width, std::string_view prefix);

/// Puts experts in the place of feed-forwards, in every layer or in those that has_experts(LAYER) names. Their names
/// follow the layer's and `prefix`.
void put_experts(
    model_spec& spec, const moe_spec& experts, std::string_view prefix = "mlp.",
    const std::function<bool(std::int64_t)>& has_experts = [](std::int64_t) { return true; });

}  // namespace cogen::models
