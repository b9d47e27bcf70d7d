#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/t5_fields.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cogen::models {
namespace {

/// Adds the blocks of one half of the model: of "encoder.", or of "decoder.".
class t5_half {
 public:
  t5_half(const load::model_config& config, const t5_fields& own, std::string name)
      : config_(config), own_(own), name_(std::move(name)) {}

  void add_attention(std::vector<block_spec>& blocks, std::int64_t layer, int part, attention_spec attends) const {
    const auto* name = attends.relative_bias ? "SelfAttention" : "EncDecAttention";
    blocks.push_back({.part = std::move(attends),
                      .prefix = fmt::format("{}{}.", prefix(layer, part), name),
                      .pre_norm = rms_norm(config_, prefix(layer, part) + "layer_norm")});
  }

  void add_mlp(std::vector<block_spec>& blocks, std::int64_t layer, int part) const {
    blocks.push_back({.part = mlp(),
                      .prefix = prefix(layer, part) + "DenseReluDense.",
                      .pre_norm = rms_norm(config_, prefix(layer, part) + "layer_norm")});
  }

  /// Scores are not scaled.
  attention_spec attention(cache::layer_kind kind) const {
    auto kv = full(config_);
    kv.kind = kind;
    return {.heads = static_cast<int>(config_.heads),
            .kv_heads = static_cast<int>(config_.heads),
            .head_dim = static_cast<int>(config_.head_dim),
            .scale = 1,
            .qkv = {"q", "k", "v"},
            .output = "o",
            .kv = kv};
  }

  /// With the biases of the first layer, which all layers of a half share.
  attention_spec self_attention(cache::layer_kind kind) const {
    auto self_attn = attention(kind);
    self_attn.relative_bias = relative_bias_spec{.name = prefix(0, 0) + "SelfAttention.relative_attention_bias",
                                                 .buckets = own_.buckets,
                                                 .max_distance = own_.max_distance,
                                                 .both_ways = kind == cache::layer_kind::cross};
    return self_attn;
  }

 private:
  std::string prefix(std::int64_t layer, int part) const {
    return fmt::format("{}block.{}.layer.{}.", name_, layer, part);
  }

  mlp_spec mlp() const {
    return {.intermediate = config_.intermediate,
            .activation = activation_named(own_.activation),
            .gate = own_.gated ? "wi_0" : "",
            .up = own_.gated ? "wi_1" : "wi",
            .down = "wo"};
  }

  const load::model_config& config_;
  const t5_fields& own_;
  const std::string name_;
};

model_spec describe_t5(const load::config_fields& fields, const load::model_config& config) {
  using kind = cache::layer_kind;
  const auto own = read_t5_fields(fields, config);
  const t5_half encoder(config, own, "encoder."), decoder(config, own, "decoder.");
  model_spec spec{
      .base = "",
      .embedding = {.names = {"decoder.embed_tokens", "shared", "encoder.embed_tokens", "lm_head"}},
      .final_norm = rms_norm(config, "decoder.final_layer_norm"),
      .head = {.names = {"lm_head", "shared", "decoder.embed_tokens", "encoder.embed_tokens"}},
      .encoder =
          encoder_spec{.embedding = {.names = {"encoder.embed_tokens", "shared", "decoder.embed_tokens", "lm_head"}},
                       .final_norm = rms_norm(config, "encoder.final_layer_norm")},
      .unread = {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}};
  if (own.scaled_head) spec.head.scale = 1 / std::sqrt(static_cast<double>(config.hidden));
  for (std::int64_t layer = 0; layer < own.encoder_layers; ++layer) {
    encoder.add_attention(spec.encoder->blocks, layer, 0, encoder.self_attention(kind::cross));
    encoder.add_mlp(spec.encoder->blocks, layer, 1);
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    decoder.add_attention(spec.blocks, layer, 0, decoder.self_attention(kind::full));
    decoder.add_attention(spec.blocks, layer, 1, decoder.attention(kind::cross));
    decoder.add_mlp(spec.blocks, layer, 2);
  }
  return spec;
}

}  // namespace

/// Raffel et al., arXiv:1910.10683; with gates as version 1.1 (Shazeer, arXiv:2002.05202).
const family t5{.title = "T5, Flan-T5",
                .fields = {.family = "t5",
                           .sizes = {.vocabulary = 32128, .hidden = 512, .layers = 6, .heads = 8, .intermediate = 2048},
                           .tokens = {.pad = 0, .eos = 1},
                           .keys = {.hidden = "d_model",
                                    .layers = "num_decoder_layers",
                                    .layers_otherwise = "num_layers",
                                    .heads = "num_heads",
                                    .kv_heads = "",
                                    .head_dim = "d_kv",
                                    .intermediate = "d_ff",
                                    .max_positions = "",
                                    .rms_norm_eps = "layer_norm_epsilon",
                                    .sliding_window = "",
                                    .activation = ""},
                           .head_dim = 64,
                           .max_positions = load::unlimited_positions,
                           .tie_embeddings = true,
                           .rotary = false,
                           .decoder_start_token = 0},
                .describe = describe_t5};

}  // namespace cogen::models
