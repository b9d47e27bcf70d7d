#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {

namespace {

attention_spec glm_attention(const load::model_config& config) {
  auto made = attention(config);
  made.rope->interleaved = true;
  made.output_bias = false;
  return made;
}

mlp_spec glm_mlp(const load::model_config& config) {
  auto made = gated_mlp(config);
  made.gate = made.up = "gate_up_proj";
  return made;
}

}  // namespace

/// GLM-4-9B (GLM Team, arXiv:2406.12793): Llama that rotates neighbors in half of each head.
model_spec glm(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_layer(spec, config, layer, glm_attention(config), glm_mlp(config));
  return spec;
}

/// GLM-4-0414: the same with norms before and after each half.
model_spec glm4(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_sandwich(spec, config, layer, glm_attention(config), glm_mlp(config),
                 {.after_attention = "post_self_attn_layernorm",
                  .before_mlp = "post_attention_layernorm",
                  .after_mlp = "post_mlp_layernorm"});
  return spec;
}

}  // namespace cogen::models
