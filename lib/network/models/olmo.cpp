#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/rope_config.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

namespace cogen::models {
namespace {

constexpr double usual_theta = 500000;  // of OLMo 3

/// Norms only behind each half, and of all queries and all keys as one vector.
constexpr sandwich_norms behind{.before_attention = "", .before_mlp = ""};

/// Not scaled, and with the usual base, unless it says otherwise itself.
load::rope_config rotation_in_windows(const load::config_fields& fields, const load::model_config& config) {
  if (fields.is_gguf())
    return {.theta = fields.real("rope.freq_base_swa", load::rope_thetas, config.rope.theta),
            .rotary_dim = config.rope.rotary_dim};
  const bool apart = fields.has("rope_parameters.full_attention");
  return load::read_rope_config(fields, "rope_parameters.sliding_attention", config,
                                {.theta = apart ? usual_theta : config.rope.theta});
}

attention_spec olmo_attention(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps, .over = qk_norm_spec::scope::width};
  return self_attn;
}

model_spec describe_olmo2(const load::config_fields& fields, const load::model_config& config) {
  if (config.sliding_window) return olmo3.describe(fields, config);
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_sandwich(spec, config, layer, olmo_attention(config), gated_mlp(config), behind);
  return spec;
}

model_spec describe_olmo3(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = sliding_layers(fields, config, [](std::int64_t layer) { return (layer + 1) % 4 != 0; });
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = olmo_attention(config);
    if (windows[static_cast<std::size_t>(layer)]) {
      attends.kv = sliding(config, *config.sliding_window);
      attends.rope->config = rotation_in_windows(fields, config);
    }
    add_sandwich(spec, config, layer, attends, gated_mlp(config), behind);
  }
  return spec;
}

model_spec describe_olmoe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 64, .top_k = 8});
  experts.router.renormalized = fields.boolean("norm_topk_prob", false);
  auto attends = olmo_attention(config);
  if (fields.has("clip_qkv")) attends.qkv_clip = static_cast<float>(fields.real("clip_qkv", {1e-6, 1e6}));
  auto spec = like_llama(config, [&](std::int64_t) { return attends; });
  put_experts(spec, experts);
  return spec;
}

}  // namespace

/// OLMo Team, arXiv:2501.00656. GGUF files of OLMo 3 have its name, and a window.
const family olmo2{
    .title = "OLMo 2",
    .fields = {.family = "olmo2",
               .sizes = {.vocabulary = 50304, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.pad = 1, .eos = 50279},
               .keys = no_window_keys,
               .rms_norm_eps = 1e-5},
    .describe = describe_olmo2};

/// The same with a window in three of four layers. Only layers of full attention scale their rotations.
const family olmo3{
    .title = "OLMo 3",
    .fields = {.family = "olmo3",
               .sizes = {.vocabulary = 50304, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.pad = 1, .eos = 50279},
               .sliding_window = 4096,
               .rms_norm_eps = 1e-5,
               .rope_theta = usual_theta},
    .describe = describe_olmo3};

/// Muennighoff et al., arXiv:2409.02060: Llama with OLMo 2's norm of queries and keys, and experts.
const family olmoe{
    .title = "OLMoE",
    .fields = {.family = "olmoe",
               .sizes = {.vocabulary = 50304, .hidden = 2048, .layers = 16, .heads = 16, .intermediate = 2048},
               .tokens = {.pad = 1, .eos = 50279},
               .keys = no_window_keys,
               .max_positions = 4096,
               .rms_norm_eps = 1e-5},
    .describe = describe_olmoe};

}  // namespace cogen::models
