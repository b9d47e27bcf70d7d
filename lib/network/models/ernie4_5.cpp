#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_ernie4_5(const load::config_fields& fields, const load::model_config& config) {
  const bool bias = fields.boolean("use_bias", false);
  auto attends = attention(config);
  attends.rope->interleaved = true;
  attends.qkv_bias = attends.output_bias = bias;
  auto mlp = gated_mlp(config);
  mlp.bias = bias;
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add_layer(spec, config, layer, attends, mlp);
  return spec;
}

}  // namespace

/// Baidu: rotates neighbors, and biases are everywhere or nowhere.
const family ernie4_5{
    .title = "ERNIE 4.5",
    .fields = {.family = "ernie4_5",
               .sizes = {.vocabulary = 103424, .hidden = 1024, .layers = 18, .heads = 16, .intermediate = 3072},
               .tokens = {.bos = 1, .pad = 0, .eos = 2},
               .keys = no_window_keys,
               .kv_heads = 2,
               .head_dim = 128,
               .max_positions = 131072,
               .rms_norm_eps = 1e-5,
               .rope_theta = 500000,
               .tie_embeddings = true},
    .describe = describe_ernie4_5};

}  // namespace cogen::models
