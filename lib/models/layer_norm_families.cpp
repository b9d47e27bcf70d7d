#include "models/families.hpp"
#include "models/like_llama.hpp"

#include <utility>

namespace cogen::models {

// Like Llama with layer norms.

namespace {

void add(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attends, mlp_spec mlp,
         float weight_offset = 0) {
  add_layer(spec, config, layer, std::move(attends), std::move(mlp));
  for (auto* block : {&*(spec.blocks.end() - 2), &spec.blocks.back()}) {
    block->before = layer_norm(config, block->before->name);
    block->before->weight_offset = weight_offset;
  }
}

}  // namespace

/// Stability AI, arXiv:2402.17834.
model_spec stablelm(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "model.norm"));
  auto attends = attention(config);
  attends.qkv_bias = fields.boolean("use_qkv_bias", false);
  attends.output_bias = false;
  if (fields.boolean("qk_layernorm", false))
    attends.qk_norm = qk_norm_spec{.q = "q_layernorm.norms.{}",
                                   .k = "k_layernorm.norms.{}",
                                   .epsilon = config.rms_norm_eps,
                                   .type = norm_spec::kind::layer,
                                   .over = qk_norm_spec::scope::each_head};
  const bool parallel = fields.boolean("use_parallel_residual", false);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    if (parallel)
      add_parallel(spec, layer, attends, gated_mlp(config),
                   layer_norm(config, layer_prefix(layer) + "input_layernorm"));
    else
      add(spec, config, layer, attends, gated_mlp(config));
  }
  return spec;
}

/// Lozhkov et al., arXiv:2402.19173.
model_spec starcoder2(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "model.norm"));
  auto attends = attention(config);
  attends.qkv_bias = attends.output_bias = fields.boolean("use_bias", true);
  if (config.sliding_window) attends.kv = sliding(config, *config.sliding_window);
  auto mlp = plain_mlp(config, "c_fc", "c_proj");
  mlp.bias = attends.output_bias;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add(spec, config, layer, attends, mlp);
  return spec;
}

/// NVIDIA, arXiv:2402.16819: norms' weights count from 1.
model_spec nemotron(const load::config_fields&, const load::model_config& config) {
  constexpr float offset = 1;
  auto spec = decoder(config, layer_norm(config, "model.norm"));
  spec.final_norm->weight_offset = offset;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add(spec, config, layer, attention(config), plain_mlp(config, "up_proj", "down_proj"), offset);
  return spec;
}

}  // namespace cogen::models
