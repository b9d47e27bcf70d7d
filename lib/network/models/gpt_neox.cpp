#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

model_spec describe_gpt_neox(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "gpt_neox.final_layer_norm"),
                      {.base = "gpt_neox.", .embedding = "embed_in", .head = "embed_out"});
  auto attends = attention(config);
  attends.qkv = {"query_key_value"};
  attends.output = "dense";
  attends.grouped_qkv = true;
  attends.qkv_bias = attends.output_bias = fields.boolean("attention_bias", true);
  auto mlp = plain_mlp(config, "dense_h_to_4h", "dense_4h_to_h");
  mlp.bias = true;
  const bool parallel = fields.boolean("use_parallel_residual", true);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("gpt_neox.layers.{}.", layer);
    spec.blocks.push_back(
        {.part = attends, .prefix = prefix + "attention.", .pre_norm = layer_norm(config, prefix + "input_layernorm")});
    spec.blocks.push_back({.part = mlp,
                           .prefix = prefix + "mlp.",
                           .pre_norm = layer_norm(config, prefix + "post_attention_layernorm"),
                           .parallel = parallel});
    for (const auto* mask : {"bias", "masked_bias", "rotary_emb.inv_freq"})
      spec.unread.push_back(prefix + "attention." + mask);
  }
  return spec;
}

}  // namespace

/// Black et al., arXiv:2204.06745, and Pythia: queries, keys and values of a head lie together in one matrix.
const family gpt_neox{
    .title = "GPT-NeoX (Pythia)",
    .fields = {.family = "gpt_neox",
               .sizes = {.vocabulary = 50432, .hidden = 6144, .layers = 44, .heads = 64, .intermediate = 24576},
               .tokens = {.bos = 0, .eos = 2},
               .gguf = {.architecture = "gptneox"},
               .keys = {.kv_heads = "", .head_dim = "", .rms_norm_eps = "layer_norm_eps", .sliding_window = ""},
               .rms_norm_eps = 1e-5,
               .partial_rotary = 0.25,
               .activation = "gelu"},
    .describe = describe_gpt_neox};

}  // namespace cogen::models
