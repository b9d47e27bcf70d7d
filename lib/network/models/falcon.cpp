#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

model_spec describe_falcon(const load::config_fields& fields, const load::model_config& config) {
  const bool grouped = fields.boolean("new_decoder_architecture", false);
  const bool parallel = grouped || fields.boolean("parallel_attn", true);
  const auto norms = fields.integer("num_ln_in_parallel_attn", {1, 2}, grouped ? 2 : 1);
  const bool bias = fields.boolean("bias", false);
  auto shape = config;
  if (grouped)
    shape.kv_heads = fields.integer("num_kv_heads", {1, config.heads}, config.heads);
  else if (fields.boolean("multi_query", true))
    shape.kv_heads = 1;
  if (config.heads % shape.kv_heads != 0) fields.refuse("num_kv_heads", "num_attention_heads must be a multiple of it");
  auto spec =
      decoder(config, layer_norm(config, "transformer.ln_f"), {.base = "transformer.", .embedding = "word_embeddings"});
  auto attends = attention(shape);
  attends.qkv = {"query_key_value"};
  attends.output = "dense";
  attends.grouped_qkv = true;
  attends.qkv_bias = attends.output_bias = bias;
  if (fields.boolean("alibi", false)) {
    attends.rope.reset();
    attends.alibi = alibi(attends.heads);
    for (auto& slope : attends.alibi->slopes) slope *= static_cast<float>(attends.scale);
  }
  auto mlp = plain_mlp(config, "dense_h_to_4h", "dense_4h_to_h");
  mlp.bias = bias;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("transformer.h.{}.", layer);
    const auto* first = parallel && grouped && norms == 2 ? "ln_attn" : "input_layernorm";
    const auto* second = !parallel ? "post_attention_layernorm" : grouped && norms == 2 ? "ln_mlp" : first;
    spec.blocks.push_back(
        {.part = attends, .prefix = prefix + "self_attention.", .pre_norm = layer_norm(config, prefix + first)});
    spec.blocks.push_back({.part = mlp,
                           .prefix = prefix + "mlp.",
                           .pre_norm = layer_norm(config, prefix + second),
                           .parallel = parallel});
  }
  return spec;
}

}  // namespace

/// Almazrouei et al., arXiv:2311.16867. Three kinds: one norm and one key head (7B), two norms and groups (40B, 180B),
/// and sequential halves with linear biases of attention (RW).
const family falcon{.title = "Falcon",
                    .fields = {.family = "falcon",
                               .sizes = {.vocabulary = 65024, .hidden = 4544, .layers = 32, .heads = 71},
                               .tokens = {.bos = 11, .eos = 11},
                               .keys = {.kv_heads = "",
                                        .head_dim = "",
                                        .intermediate = "ffn_hidden_size",
                                        .rms_norm_eps = "layer_norm_epsilon",
                                        .sliding_window = "",
                                        .activation = "activation"},
                               .rms_norm_eps = 1e-5,
                               .intermediate_factor = 4,
                               .activation = "gelu",
                               .tie_embeddings = true},
                    .describe = describe_falcon};

}  // namespace cogen::models
