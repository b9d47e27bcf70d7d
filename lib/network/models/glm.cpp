#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"
#include "network/models/mtp.hpp"

namespace cogen::models {
namespace {

attention_spec glm_attention(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.rope->interleaved = true;
  self_attn.output_bias = false;
  return self_attn;
}

mlp_spec glm_mlp(const load::model_config& config) {
  auto mlp = gated_mlp(config);
  mlp.gate = mlp.up = "gate_up_proj";
  return mlp;
}

model_spec describe_glm(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_layer(spec, config, layer, glm_attention(config), glm_mlp(config));
  return spec;
}

model_spec describe_glm4(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_sandwich(spec, config, layer, glm_attention(config), glm_mlp(config),
                 {.after_attention = "post_self_attn_layernorm",
                  .before_mlp = "post_attention_layernorm",
                  .after_mlp = "post_mlp_layernorm"});
  return spec;
}

model_spec describe_glm4_moe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = sigmoid_mixture(fields, config, {.experts = 128, .top_k = 8, .width = 1408});
  experts.router.renormalized = fields.boolean("norm_topk_prob", true);
  auto spec = like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    self_attn.output_bias = false;
    if (fields.boolean("use_qk_norm", false)) self_attn.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps};
    return self_attn;
  });
  const auto dense = fields.integer("first_k_dense_replace", {0, load::layer_counts.highest}, 1);
  put_experts(spec, experts, "mlp.", [&](std::int64_t layer) { return layer >= dense; });
  add_mtp_layer(spec, experts, fields, config, 1);
  return spec;
}

/// What both models of 9 billion parameters have by default.
constexpr load::family_fields fields_of(std::string_view name, load::gguf_traits gguf) {
  return {.family = name,
          .sizes = {.vocabulary = 151552, .hidden = 4096, .layers = 40, .heads = 32, .intermediate = 13696},
          .tokens = {.pad = 151329, .eos = 151329, .other_eos = {151336, 151338}},
          .gguf = gguf,
          .keys = no_window_keys,
          .kv_heads = 2,
          .head_dim = 128,
          .max_positions = 131072,
          .rms_norm_eps = 1.5625e-07,
          .partial_rotary = 0.5,
          .attention_bias = true};
}

}  // namespace

/// GLM-4-9B (GLM Team, arXiv:2406.12793): Llama that rotates neighbors in half of each head.
const family glm{
    .title = "GLM-4-9B", .fields = fields_of("glm", load::gguf_traits{.known = false}), .describe = describe_glm};

/// GLM-4-0414: the same with norms before and after each half.
const family glm4{.title = "GLM-4-0414", .fields = fields_of("glm4", load::gguf_traits{}), .describe = describe_glm4};

/// GLM-4.5 (GLM-4.5 Team, arXiv:2508.06471): Llama that rotates part of each head, with DeepSeek-V3's experts in all
/// but the first layers. One layer more is for multi-token prediction.
const family glm4_moe{
    .title = "GLM-4.5",
    .fields = {.family = "glm4_moe",
               .sizes = {.vocabulary = 151552, .hidden = 4096, .layers = 46, .heads = 96, .intermediate = 10944},
               .gguf = {.architecture = "glm4moe"},
               .keys = no_window_keys,
               .kv_heads = 8,
               .max_positions = 131072,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 0.5},
    .describe = describe_glm4_moe};

}  // namespace cogen::models
