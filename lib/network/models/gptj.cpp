#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cogen::models {
namespace {

model_spec describe_gptj(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "transformer.ln_f"), {.base = "transformer.", .embedding = "wte"});
  spec.head.bias = "lm_head.bias";
  auto attends = attention(config);
  attends.output = "out_proj";
  attends.rope->interleaved = true;
  attends.rope->config.rotary_dim = fields.integer("rotary_dim", {2, config.head_dim}, 64);
  auto mlp = plain_mlp(config, "fc_in", "fc_out");
  mlp.bias = true;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("transformer.h.{}.", layer);
    const auto pre_norm = layer_norm(config, prefix + "ln_1");
    spec.blocks.push_back({.part = attends, .prefix = prefix + "attn.", .pre_norm = pre_norm});
    spec.blocks.push_back({.part = mlp, .prefix = prefix + "mlp.", .pre_norm = pre_norm, .parallel = true});
    spec.unread.push_back(prefix + "attn.bias");  // masks, in older files
    spec.unread.push_back(prefix + "attn.masked_bias");
  }
  return spec;
}

}  // namespace

/// Wang and Komatsuzaki, 2021: attention and feed-forward read one layer norm; neighbors are rotated in the first
/// rotary_dim dimensions of each head.
const family gptj{.title = "GPT-J",
                  .fields = {.family = "gptj",
                             .sizes = {.vocabulary = 50400, .hidden = 4096, .layers = 28, .heads = 16},
                             .tokens = {.bos = 50256, .eos = 50256},
                             .gguf = {.known = false},
                             .keys = gpt2_keys,
                             .rms_norm_eps = 1e-5,
                             .intermediate_factor = 4,
                             .activation = "gelu_new",
                             .attention_bias = std::nullopt},
                  .describe = describe_gptj};

}  // namespace cogen::models
