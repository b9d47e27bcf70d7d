#include "load/mamba_fields.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"
#include "models/mamba_mixer.hpp"

namespace cogen::models {

namespace {

block_spec mixer(const load::jamba_fields& own, const load::model_config& config, std::int64_t layer) {
  const auto prefix = layer_prefix(layer);
  const auto before = rms_norm(config, prefix + "input_layernorm");
  if (layer % own.attention_period == own.attention_offset) {
    auto attends = attention(config);
    attends.rope.reset();
    return {.what = attends, .prefix = prefix + "self_attn.", .before = before};
  }
  auto scans = mamba_mixer(own.mamba);
  scans.norm_epsilon = config.rms_norm_eps;
  return {.what = scans, .prefix = prefix + "mamba.", .before = before};
}

block_spec feed_forward(const load::jamba_fields& own, const load::model_config& config, std::int64_t layer) {
  const auto prefix = layer_prefix(layer);
  block_spec block{.what = gated_mlp(config),
                   .prefix = prefix + "feed_forward.",
                   .before = rms_norm(config, prefix + "pre_ff_layernorm")};
  if (own.experts > 1 && layer % own.expert_period == own.expert_offset)
    block.what = moe_spec{.expert = gated_mlp(config), .experts = own.experts, .top_k = own.experts_per_token};
  return block;
}

}  // namespace

/// Lieber et al., arXiv:2403.19887: attention without positions in some layers and scans in the others, experts in some
/// of both.
model_spec jamba(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Jamba's is silu");
  const auto own = load::read_jamba_fields(fields, config);
  auto spec = decoder(config, rms_norm(config, "model.final_layernorm"));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    spec.blocks.push_back(mixer(own, config, layer));
    spec.blocks.push_back(feed_forward(own, config, layer));
  }
  return spec;
}

}  // namespace cogen::models
