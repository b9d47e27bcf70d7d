#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_starcoder2(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "model.norm"));
  auto attends = attention(config);
  attends.qkv_bias = attends.output_bias = fields.boolean("use_bias", true);
  if (config.sliding_window) attends.kv = sliding(config, *config.sliding_window);
  auto mlp = plain_mlp(config, "c_fc", "c_proj");
  mlp.bias = attends.output_bias;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add_layer_normed(spec, config, layer, attends, mlp);
  return spec;
}

}  // namespace

/// Lozhkov et al., arXiv:2402.19173.
const family starcoder2{
    .title = "StarCoder 2",
    .fields = {.family = "starcoder2",
               .sizes = {.vocabulary = 49152, .hidden = 3072, .layers = 30, .heads = 24, .intermediate = 12288},
               .tokens = {.bos = 50256, .eos = 50256},
               .keys = {.rms_norm_eps = "norm_epsilon"},
               .kv_heads = 2,
               .max_positions = 4096,
               .rms_norm_eps = 1e-5,
               .activation = "gelu_pytorch_tanh",
               .tie_embeddings = true},
    .describe = describe_starcoder2};

}  // namespace cogen::models
