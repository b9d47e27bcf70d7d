#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace cogen::models {
namespace {

constexpr load::real_range factors{-1e9, 1e9};

float multiplier(const load::config_fields& fields, std::string_view key) {
  return static_cast<float>(fields.real(key, factors, 1));
}

std::vector<float> multipliers(const load::config_fields& fields, std::string_view key, std::size_t count) {
  const auto given = fields.reals(key, factors);
  if (given.empty()) return std::vector<float>(count, 1);
  if (given.size() != count) fields.refuse(key, fmt::format("{} numbers are read", count));
  return {given.begin(), given.end()};
}

/// What scales the input scales queries, keys and values, because they have no biases.
attention_spec scaled_attention(const load::config_fields& fields, const load::model_config& config) {
  auto self_attn = attention(config);
  const double in = multiplier(fields, "attention_in_multiplier");
  if (in != 1 && self_attn.qkv_bias) fields.refuse("attention_bias", "it is read without attention_in_multiplier");
  self_attn.scale *= in * in * multiplier(fields, "key_multiplier");
  return self_attn;
}

mamba2_spec scaled_mixer(const load::config_fields& fields, const load::model_config& config) {
  auto mixer = mamba2_mixer(fields, read_falcon_mamba2_fields(fields, config), config);
  const auto in = multiplier(fields, "ssm_in_multiplier");
  if (in != 1 && mixer.bias) fields.refuse("mamba_proj_bias", "it is read without ssm_in_multiplier");
  if (fields.boolean("projectors_bias", fields.is_gguf() && mixer.bias) != mixer.bias)
    fields.refuse("projectors_bias", "it must be mamba_proj_bias");
  const auto parts = multipliers(fields, "ssm_multipliers", mixer.scales.size());
  for (std::size_t part = 0; part < parts.size(); ++part) mixer.scales[part] = in * parts[part];
  using place = mamba2_spec::norm_place;
  if (!fields.boolean("mamba_rms_norm", false))
    mixer.norm = place::none;
  else if (fields.boolean("mamba_norm_before_gate", true))
    mixer.norm = place::before_gate;
  return mixer;
}

model_spec describe_falcon_h1(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Falcon-H1's is silu");
  const auto attends = scaled_attention(fields, config);
  const auto mixes = scaled_mixer(fields, config);
  const auto of_mlp = multipliers(fields, "mlp_multipliers", 2);
  auto feeds = gated_mlp(config);
  feeds.gate_scale = of_mlp[0];
  const auto in_and_out =
      multiplier(fields, "attention_in_multiplier") * multiplier(fields, "attention_out_multiplier");
  auto spec = decoder(config, rms_norm(config, "model.final_layernorm"));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = layer_prefix(layer);
    const auto pre_norm = rms_norm(config, prefix + "input_layernorm");
    spec.blocks.push_back({.part = mixes,
                           .prefix = prefix + "mamba.",
                           .pre_norm = pre_norm,
                           .residual_scale = multiplier(fields, "ssm_out_multiplier")});
    spec.blocks.push_back({.part = attends,
                           .prefix = prefix + "self_attn.",
                           .pre_norm = pre_norm,
                           .residual_scale = in_and_out,
                           .parallel = true});
    spec.blocks.push_back({.part = feeds,
                           .prefix = prefix + "feed_forward.",
                           .pre_norm = rms_norm(config, prefix + "pre_ff_layernorm"),
                           .residual_scale = of_mlp[1]});
  }
  spec.embedding.scale = multiplier(fields, "embedding_multiplier");
  spec.head.scale = multiplier(fields, "lm_head_multiplier");
  return spec;
}

}  // namespace

/// Falcon LLM Team, arXiv:2507.22448: Mamba-2 and attention beside each other in every layer, and multipliers
/// everywhere.
const family falcon_h1{
    .title = "Falcon-H1",
    .fields = {.family = "falcon_h1",
               .sizes = {.vocabulary = 128000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .pad = 0, .eos = 2},
               .gguf = {.architecture = "falcon-h1"},
               .keys = no_window_keys,
               .kv_heads = 8,
               .max_positions = 8192,
               .rms_norm_eps = 1e-5,
               .mlp_bias = false},
    .describe = describe_falcon_h1};

}  // namespace cogen::models
