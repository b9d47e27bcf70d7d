#include "load/gemma3_fields.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"

#include <cmath>

namespace cogen::models {

namespace {

constexpr float norm_offset = 1;

norm_spec norm(const load::model_config& config, std::string name) {
  auto spec = rms_norm(config, std::move(name));
  spec.weight_offset = norm_offset;
  return spec;
}

}  // namespace

/// Gemma Team, arXiv:2503.19786: norms before and after each half, and windows in most layers, which rotate otherwise.
model_spec gemma3(const load::config_fields& fields, const load::model_config& config) {
  const auto own = load::read_gemma3_fields(fields, config);
  auto spec = decoder(config);
  spec.embedding.scale = std::sqrt(static_cast<double>(config.hidden));
  spec.final_norm = norm(config, "model.norm");
  spec.head.softcap = static_cast<float>(own.logit_cap);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = layer_prefix(layer);
    auto attends = attention(config);
    attends.scale = 1 / std::sqrt(own.query_scalar);
    attends.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps, .weight_offset = norm_offset};
    if (own.slides.at(static_cast<std::size_t>(layer))) {
      attends.kv = sliding(config, config.sliding_window.value());
      attends.rope = rope_spec{own.local};
    }
    spec.blocks.push_back({.what = attends,
                           .prefix = prefix + "self_attn.",
                           .before = norm(config, prefix + "input_layernorm"),
                           .after = norm(config, prefix + "post_attention_layernorm")});
    auto feeds = gated_mlp(config);
    feeds.bias = false;
    spec.blocks.push_back({.what = feeds,
                           .prefix = prefix + "mlp.",
                           .before = norm(config, prefix + "pre_feedforward_layernorm"),
                           .after = norm(config, prefix + "post_feedforward_layernorm")});
  }
  return spec;
}

}  // namespace cogen::models
