#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"
#include "network/models/mixture.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace cogen::models {
namespace {

mamba_spec normed_mixer(const jamba_fields& own, const load::model_config& config) {
  auto mixer = mamba_mixer(own.mamba);
  mixer.norm_epsilon = config.rms_norm_eps;
  return mixer;
}

attention_spec without_positions(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.rope.reset();
  return self_attn;
}

model_spec describe_jamba(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Jamba's is silu");
  const auto own = read_jamba_fields(fields, config);
  auto spec = decoder(config, rms_norm(config, "model.final_layernorm"));
  std::vector<bool> attends;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    attends.push_back(layer % own.attention_period == own.attention_offset);
  add_layers(spec, config,
             {.attends = std::move(attends),
              .attention = without_positions(config),
              .other = normed_mixer(own, config),
              .other_prefix = "mamba.",
              .mlp = gated_mlp(config),
              .mlp_prefix = "feed_forward.",
              .before_mlp = "pre_ff_layernorm"});
  const moe_spec experts{.expert = gated_mlp(config), .experts = own.experts, .top_k = own.experts_per_token};
  put_experts(spec, experts, "feed_forward.",
              [&](std::int64_t layer) { return own.experts > 1 && layer % own.expert_period == own.expert_offset; });
  return spec;
}

}  // namespace

/// Lieber et al., arXiv:2403.19887: attention without positions in some layers and scans in the others, experts in some
/// of both.
const family jamba{
    .title = "Jamba",
    .fields = {.family = "jamba",
               .sizes = {.vocabulary = 65536, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .pad = 0, .eos = 2},
               .keys = no_window_keys,
               .kv_heads = 8,
               .max_positions = 262144,
               .attention_bias = std::nullopt,
               .rotary = false},
    .describe = describe_jamba};

}  // namespace cogen::models
