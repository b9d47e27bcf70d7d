#include "models/families.hpp"
#include "models/like_llama.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

model_spec describe(const load::config_fields& fields, const load::model_config& config) {
  const bool shrinks = fields.boolean("scale_attn_by_inverse_layer_idx", false);
  auto spec = decoder(config, layer_norm(config, "transformer.ln_f"), {.base = "transformer.", .embedding = "wte"});
  spec.embedding.positions = position_table_spec{"transformer.wpe"};
  auto attends = attention(config);
  attends.qkv = {"c_attn"};
  attends.output = "c_proj";
  attends.transposed = attends.qkv_bias = attends.output_bias = true;
  attends.rope.reset();
  if (!fields.boolean("scale_attn_weights", true)) attends.scale = 1;
  auto mlp = plain_mlp(config, "c_fc", "c_proj");
  mlp.transposed = mlp.bias = true;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("transformer.h.{}.", layer);
    auto own = attends;
    if (shrinks) own.scale /= static_cast<double>(layer + 1);
    spec.blocks.push_back({.what = own, .prefix = prefix + "attn.", .before = layer_norm(config, prefix + "ln_1")});
    spec.blocks.push_back({.what = mlp, .prefix = prefix + "mlp.", .before = layer_norm(config, prefix + "ln_2")});
    spec.unread.push_back(prefix + "attn.bias");  // masks, in older files
    spec.unread.push_back(prefix + "attn.masked_bias");
  }
  return spec;
}

}  // namespace

/// Radford et al., 2019: learned positions, layer norms, biases everywhere; matrices are stored [inputs, outputs].
const family gpt2{.title = "GPT-2",
                  .fields = {.family = "gpt2",
                             .keys = gpt2_keys,
                             .max_positions = 1024,
                             .rms_norm_eps = 1e-5,
                             .intermediate_factor = 4,
                             .activation = "gelu_new",
                             .tie_embeddings = true,
                             .rotary = false},
                  .describe = describe};

}  // namespace cogen::models
