#include "models/like_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace cogen::models {

namespace {

using kernels::activation;

constexpr std::array<std::pair<std::string_view, activation>, 6> activations{
    {{"silu", activation::silu},
     {"swish", activation::silu},
     {"gelu", activation::gelu},
     {"gelu_new", activation::gelu_tanh},
     {"gelu_pytorch_tanh", activation::gelu_tanh},
     {"relu", activation::relu}}};

}  // namespace

std::string layer_prefix(std::int64_t layer) { return fmt::format("model.layers.{}.", layer); }

norm_spec rms_norm(const load::model_config& config, std::string name) {
  return {.name = std::move(name), .epsilon = config.rms_norm_eps};
}

cache::kv_cache_spec full(const load::model_config& config) {
  return {.kv_heads = static_cast<int>(config.kv_heads), .head_dim = static_cast<int>(config.head_dim)};
}

cache::kv_cache_spec sliding(const load::model_config& config, std::int64_t window) {
  auto kv = full(config);
  if (window >= config.max_positions) return kv;
  kv.kind = cache::layer_kind::sliding;
  kv.window = static_cast<int>(window);
  return kv;
}

attention_spec attention(const load::model_config& config) {
  return {.heads = static_cast<int>(config.heads),
          .kv_heads = static_cast<int>(config.kv_heads),
          .head_dim = static_cast<int>(config.head_dim),
          .scale = 1 / std::sqrt(static_cast<double>(config.head_dim)),
          .qkv_bias = config.attention_bias,
          .output_bias = config.attention_bias,
          .rope = rope_spec{config.rope},
          .kv = full(config)};
}

mlp_spec gated_mlp(const load::model_config& config) {
  return {.intermediate = config.intermediate,
          .activation = activation_named(config.activation),
          .bias = config.mlp_bias};
}

model_spec decoder(const load::model_config& config) {
  model_spec spec{.embedding = {.names = {"model.embed_tokens"}}, .final_norm = rms_norm(config, "model.norm")};
  if (!config.tie_embeddings) spec.head.names = {"lm_head"};
  return spec;
}

void add_layer(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention) {
  const auto prefix = layer_prefix(layer);
  spec.blocks.push_back({.what = std::move(attention),
                         .prefix = prefix + "self_attn.",
                         .before = rms_norm(config, prefix + "input_layernorm")});
  spec.blocks.push_back({.what = gated_mlp(config),
                         .prefix = prefix + "mlp.",
                         .before = rms_norm(config, prefix + "post_attention_layernorm")});
}

activation activation_named(std::string_view name) {
  for (const auto& [known, kind] : activations)
    if (known == name) return kind;
  throw std::invalid_argument(fmt::format("the activation \"{}\" is not known", name));
}

}  // namespace cogen::models
