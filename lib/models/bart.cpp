#include "load/bart_fields.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cogen::models {

namespace {

norm_spec norm(const load::model_config& config, std::string name) {
  return {.name = std::move(name), .epsilon = config.rms_norm_eps, .type = norm_spec::kind::layer, .bias = true};
}

attention_spec attention_of(std::int64_t hidden, std::int64_t heads, cache::layer_kind kind) {
  const auto count = static_cast<int>(heads), width = static_cast<int>(hidden / heads);
  return {.heads = count,
          .kv_heads = count,
          .head_dim = width,
          .scale = 1 / std::sqrt(static_cast<double>(width)),
          .output = "out_proj",
          .qkv_bias = true,
          .output_bias = true,
          .kv = {.kind = kind, .kv_heads = count, .head_dim = width}};
}

mlp_spec mlp_of(const load::model_config& config, std::int64_t intermediate) {
  return {.intermediate = intermediate,
          .activation = activation_named(config.activation),
          .gate = "",
          .up = "fc1",
          .down = "fc2",
          .bias = true};
}

/// The norms come after each half, over the sum.
block_spec attention_block(const load::model_config& config, const std::string& prefix, const std::string& name,
                           attention_spec attends) {
  return {
      .what = std::move(attends), .prefix = prefix + name + ".", .post = norm(config, prefix + name + "_layer_norm")};
}

block_spec mlp_block(const load::model_config& config, const std::string& prefix, std::int64_t intermediate) {
  return {.what = mlp_of(config, intermediate), .prefix = prefix, .post = norm(config, prefix + "final_layer_norm")};
}

embedding_spec embedding_of(const load::model_config& config, const std::string& half, double scale) {
  constexpr std::int64_t first_position = 2;
  return {.names = {half + "embed_tokens", "model.shared"},
          .scale = scale,
          .positions = position_table_spec{half + "embed_positions", first_position},
          .norm = norm(config, half + "layernorm_embedding")};
}

}  // namespace

/// Lewis et al., arXiv:1910.13461; weights named as in Transformers' modeling_bart.py.
model_spec bart(const load::config_fields& fields, const load::model_config& config) {
  const auto own = load::read_bart_fields(fields, config);
  const auto scale = own.scale_embedding ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
  model_spec spec{.embedding = embedding_of(config, "model.decoder.", scale),
                  .head = {.names = {"lm_head", "model.shared"}, .bias = "final_logits_bias", .bias_is_row = true},
                  .encoder = encoder_spec{.embedding = embedding_of(config, "model.encoder.", scale)},
                  .unread = {"model.encoder.version", "model.decoder.version"}};
  if (config.tie_embeddings) {  // one table, whatever copies of it the checkpoint holds
    const std::vector<std::string> copies{"model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens",
                                          "lm_head"};
    spec.embedding.names = spec.encoder->embedding.names = spec.head.names = copies;
  }
  for (std::int64_t layer = 0; layer < own.encoder_layers; ++layer) {
    const auto prefix = fmt::format("model.encoder.layers.{}.", layer);
    spec.encoder->blocks.push_back(attention_block(
        config, prefix, "self_attn", attention_of(config.hidden, own.encoder_heads, cache::layer_kind::cross)));
    spec.encoder->blocks.push_back(mlp_block(config, prefix, own.encoder_intermediate));
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("model.decoder.layers.{}.", layer);
    spec.blocks.push_back(attention_block(config, prefix, "self_attn",
                                          attention_of(config.hidden, config.heads, cache::layer_kind::full)));
    spec.blocks.push_back(attention_block(config, prefix, "encoder_attn",
                                          attention_of(config.hidden, config.heads, cache::layer_kind::cross)));
    spec.blocks.push_back(mlp_block(config, prefix, config.intermediate));
  }
  return spec;
}

}  // namespace cogen::models
