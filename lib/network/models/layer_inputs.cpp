#include "network/models/layer_inputs.hpp"

#include "network/models/like_llama.hpp"

#include <cmath>
#include <numbers>

namespace cogen::models {

layer_inputs_spec layer_inputs(const load::config_fields& fields, const load::model_config& config,
                               std::int64_t width) {
  layer_inputs_spec spec{
      .table = "model.embed_tokens_per_layer",
      .vocabulary =
          fields.integer("vocab_size_per_layer_input", {1, 1 << 24}, fields.is_gguf() ? config.vocabulary : 262144),
      .width = width,
      .layers = config.layers,
      .table_scale = std::sqrt(static_cast<double>(width) / 2),
      .projection = "model.per_layer_model_projection",
      .norm = rms_norm(config, "model.per_layer_projection_norm"),
  };
  spec.norm.epsilon *= static_cast<double>(config.hidden);  // of a product that is scaled by hidden ^ -0.5
  spec.norm.weight_scale = static_cast<float>(1 / std::numbers::sqrt2);
  return spec;
}

block_spec layer_input(const load::model_config& config, std::int64_t layer, std::int64_t width) {
  const auto prefix = layer_prefix(layer);
  return {
      .part =
          layer_input_spec{.width = width, .first = layer * width, .activation = activation_named(config.activation)},
      .prefix = prefix,
      .after = rms_norm(config, prefix + "post_per_layer_input_norm")};
}

}  // namespace cogen::models
