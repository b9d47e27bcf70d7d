#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

/// Attention and feed-forward of all layers, which a family may change.
struct halves {
  attention_spec attends;
  mlp_spec mlp;
};

halves halves_of(const load::config_fields& fields, const load::model_config& config) {
  halves layer{attention(config), plain_mlp(config, "c_fc", "c_proj")};
  layer.attends.qkv = {"c_attn"};
  layer.attends.output = "c_proj";
  layer.attends.qkv_bias = layer.attends.output_bias = layer.mlp.bias = true;
  layer.attends.rope.reset();
  if (!fields.boolean("scale_attn_weights", true)) layer.attends.scale = 1;
  return layer;
}

model_spec with_positions(const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "transformer.ln_f"), {.base = "transformer.", .embedding = "wte"});
  spec.embedding.positions = position_table_spec{"transformer.wpe"};
  return spec;
}

std::string prefix_of(std::int64_t layer) { return fmt::format("transformer.h.{}.", layer); }

void add(model_spec& spec, const load::model_config& config, std::int64_t layer, const halves& both) {
  const auto prefix = prefix_of(layer);
  spec.blocks.push_back(
      {.part = both.attends, .prefix = prefix + "attn.", .pre_norm = layer_norm(config, prefix + "ln_1")});
  spec.blocks.push_back({.part = both.mlp, .prefix = prefix + "mlp.", .pre_norm = layer_norm(config, prefix + "ln_2")});
}

model_spec describe_gpt2(const load::config_fields& fields, const load::model_config& config) {
  const bool shrinks = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  auto both = halves_of(fields, config);
  both.attends.transposed = both.mlp.transposed = true;
  auto spec = with_positions(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto own = both;
    if (shrinks) own.attends.scale /= static_cast<double>(layer + 1);
    add(spec, config, layer, own);
    spec.unread.push_back(prefix_of(layer) + "attn.bias");  // masks, in older files
    spec.unread.push_back(prefix_of(layer) + "attn.masked_bias");
  }
  return spec;
}

model_spec describe_gpt_bigcode(const load::config_fields& fields, const load::model_config& config) {
  auto shape = config;
  if (fields.boolean("multi_query", true)) shape.kv_heads = 1;
  auto both = halves_of(fields, shape);
  both.attends.grouped_qkv = true;
  auto spec = with_positions(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add(spec, config, layer, both);
  return spec;
}

}  // namespace

/// Radford et al., 2019: learned positions, layer norms, biases everywhere; matrices are stored [inputs, outputs].
const family gpt2{.title = "GPT-2",
                  .fields = {.family = "gpt2",
                             .sizes = {.vocabulary = 50257, .hidden = 768, .layers = 12, .heads = 12},
                             .tokens = {.bos = 50256, .eos = 50256},
                             .keys = gpt2_keys,
                             .max_positions = 1024,
                             .rms_norm_eps = 1e-5,
                             .intermediate_factor = 4,
                             .activation = "gelu_new",
                             .tie_embeddings = true,
                             .rotary = false},
                  .describe = describe_gpt2};

/// Ben Allal et al., arXiv:2301.03988 and Li et al., arXiv:2305.06161: one key head for all queries, or one for each;
/// matrices are stored [outputs, inputs].
const family gpt_bigcode{.title = "StarCoder, SantaCoder",
                         .fields = {.family = "gpt_bigcode",
                                    .sizes = {.vocabulary = 50257, .hidden = 768, .layers = 12, .heads = 12},
                                    .tokens = {.bos = 50256, .eos = 50256},
                                    .gguf = {.architecture = "starcoder"},
                                    .keys = gpt2_keys,
                                    .max_positions = 1024,
                                    .rms_norm_eps = 1e-5,
                                    .intermediate_factor = 4,
                                    .activation = "gelu_pytorch_tanh",
                                    .tie_embeddings = true,
                                    .rotary = false},
                         .describe = describe_gpt_bigcode};

}  // namespace cogen::models
