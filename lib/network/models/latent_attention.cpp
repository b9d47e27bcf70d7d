#include "network/models/latent_attention.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cogen::models {

namespace {

constexpr load::integer_range ranks{1, 1 << 16};

/// A null says that there is none, and so does a GGUF file that leaves it out.
int query_rank(const load::config_fields& fields, std::int64_t missing) {
  if (fields.is_null("q_lora_rank") || (fields.is_gguf() && !fields.has("q_lora_rank"))) return 0;
  return static_cast<int>(fields.integer("q_lora_rank", ranks, missing));
}

/// GGUF files have it with the dimensions that are rotated.
std::int64_t plain_dim(const load::config_fields& fields, std::int64_t missing, std::int64_t rope_dim) {
  if (!fields.is_gguf()) return fields.integer("qk_nope_head_dim", load::head_dims, missing);
  return fields.integer("qk_head_dim", {rope_dim + 1, 2 * load::head_dims.highest}) - rope_dim;
}

/// llama.cpp stores a tenth of mscale_all_dim, and takes mscale to be the same.
load::rope_config rotation(const load::config_fields& fields, const load::model_config& config) {
  auto rope = config.rope;
  if (fields.is_gguf() && rope.mscale_all_dim) rope.mscale = rope.mscale_all_dim = 10 * *rope.mscale_all_dim;
  return rope;
}

double magnitude(const load::rope_config& rope) {
  if (rope.factor <= 1) return 1;
  return 0.1 * rope.mscale_all_dim.value_or(0) * std::log(rope.factor) + 1;
}

}  // namespace

latent_attention_spec latent_attention(const load::config_fields& fields, const load::model_config& config,
                                       const latent_defaults& missing) {
  const auto dim = [&](std::string_view key, std::int64_t fallback) {
    return static_cast<int>(fields.integer(key, load::head_dims, fallback));
  };
  const auto rope_dim = dim("qk_rope_head_dim", missing.rope_dim);
  const auto value_dim = missing.value_dim == 0 ? config.hidden / config.heads : missing.value_dim;
  latent_attention_spec spec{
      .heads = static_cast<int>(config.heads),
      .nope_dim = static_cast<int>(plain_dim(fields, missing.nope_dim, rope_dim)),
      .rope_dim = rope_dim,
      .value_dim = dim("v_head_dim", value_dim),
      .kv_rank = static_cast<int>(fields.integer("kv_lora_rank", ranks, missing.kv_rank)),
      .q_rank = query_rank(fields, missing.q_rank),
      .down_bias = config.attention_bias,
      .output_bias = config.attention_bias,
      .rope = {.config = rotation(fields, config), .interleaved = fields.boolean("rope_interleave", true)}};
  if (spec.rope.config.rotary_dim != spec.rope_dim)
    fields.refuse("qk_rope_head_dim", fmt::format("{} dimensions are rotated", spec.rope.config.rotary_dim));
  const auto factor = magnitude(spec.rope.config);
  spec.scale = factor * factor / std::sqrt(static_cast<double>(spec.query_dim()));
  return spec;
}

model_spec latent_decoder(const load::model_config& config, const latent_attention_spec& attention) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = layer_prefix(layer);
    spec.blocks.push_back(
        {.part = attention, .prefix = prefix + "self_attn.", .pre_norm = rms_norm(config, prefix + "input_layernorm")});
    spec.blocks.push_back({.part = gated_mlp(config),
                           .prefix = prefix + "mlp.",
                           .pre_norm = rms_norm(config, prefix + "post_attention_layernorm")});
  }
  return spec;
}

}  // namespace cogen::models
