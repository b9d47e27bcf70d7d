#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

model_spec describe_bloom(const load::config_fields& fields, const load::model_config& config) {
  if (fields.boolean("apply_residual_connection_post_layernorm", false))
    fields.refuse("apply_residual_connection_post_layernorm", "only false is known");
  auto spec =
      decoder(config, layer_norm(config, "transformer.ln_f"), {.base = "transformer.", .embedding = "word_embeddings"});
  spec.embedding.norm = layer_norm(config, "transformer.word_embeddings_layernorm");
  auto attends = attention(config);
  attends.qkv = {"query_key_value"};
  attends.output = "dense";
  attends.grouped_qkv = attends.qkv_bias = attends.output_bias = true;
  attends.rope.reset();
  attends.alibi = alibi(attends.heads);
  auto mlp = plain_mlp(config, "dense_h_to_4h", "dense_4h_to_h");
  mlp.bias = true;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("transformer.h.{}.", layer);
    spec.blocks.push_back({.part = attends,
                           .prefix = prefix + "self_attention.",
                           .pre_norm = layer_norm(config, prefix + "input_layernorm")});
    spec.blocks.push_back(
        {.part = mlp, .prefix = prefix + "mlp.", .pre_norm = layer_norm(config, prefix + "post_attention_layernorm")});
  }
  return spec;
}

}  // namespace

/// BigScience, arXiv:2211.05100: linear biases of attention, and a norm of the embeddings.
const family bloom{.title = "BLOOM",
                   .fields = {.family = "bloom",
                              .sizes = {.vocabulary = 250880, .hidden = 64, .layers = 2, .heads = 8},
                              .tokens = {.bos = 1, .eos = 2},
                              .keys = {.layers = "n_layer",
                                       .heads = "n_head",
                                       .kv_heads = "",
                                       .head_dim = "",
                                       .intermediate = "ffn_hidden_size",
                                       .max_positions = "",
                                       .rms_norm_eps = "layer_norm_epsilon",
                                       .sliding_window = "",
                                       .activation = "hidden_act"},
                              .max_positions = load::unlimited_positions,
                              .rms_norm_eps = 1e-5,
                              .intermediate_factor = 4,
                              .activation = "gelu_pytorch_tanh",
                              .tie_embeddings = true,
                              .rotary = false},
                   .describe = describe_bloom};

}  // namespace cogen::models
