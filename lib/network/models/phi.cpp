#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_phi(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "model.final_layernorm"));
  spec.head.bias = "lm_head.bias";
  auto attends = attention(config);
  attends.output = "dense";
  attends.qkv_bias = attends.output_bias = true;
  if (fields.boolean("qk_layernorm", false))
    attends.qk_norm = qk_norm_spec{.q = "q_layernorm",
                                   .k = "k_layernorm",
                                   .epsilon = config.rms_norm_eps,
                                   .type = norm_spec::kind::layer,
                                   .bias = true};
  auto mlp = plain_mlp(config, "fc1", "fc2");
  mlp.bias = true;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_parallel(spec, layer, attends, mlp, layer_norm(config, layer_prefix(layer) + "input_layernorm"));
  return spec;
}

}  // namespace

/// Phi-1 to Phi-2 (Li et al., arXiv:2309.05463): attention and feed-forward read one layer norm, and biases are
/// everywhere.
const family phi{
    .title = "Phi-1 to Phi-2",
    .fields = {.family = "phi",
               .sizes = {.vocabulary = 51200, .hidden = 2048, .layers = 24, .heads = 32, .intermediate = 8192},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.architecture = "phi2"},
               .keys = no_window_layer_norm_keys,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 0.5,
               .activation = "gelu_new"},
    .describe = describe_phi};

}  // namespace cogen::models
