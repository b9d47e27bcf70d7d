#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_stablelm(const load::config_fields& fields, const load::model_config& config) {
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
      add_layer_normed(spec, config, layer, attends, gated_mlp(config));
  }
  return spec;
}

}  // namespace

/// Stability AI, arXiv:2402.17834.
const family stablelm{
    .title = "StableLM",
    .fields = {.family = "stablelm",
               .sizes = {.vocabulary = 50304, .hidden = 2560, .layers = 32, .heads = 32, .intermediate = 6912},
               .tokens = {.bos = 0, .eos = 0},
               .keys = no_window_layer_norm_keys,
               .kv_heads = 32,
               .max_positions = 4096,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 0.25},
    .describe = describe_stablelm};

}  // namespace cogen::models
