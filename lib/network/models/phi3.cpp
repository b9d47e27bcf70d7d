#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <optional>

namespace cogen::models {
namespace {

model_spec describe_phi3(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  auto attends = attention(config);
  attends.qkv = {"qkv_proj"};
  if (config.sliding_window) attends.kv = sliding(config, *config.sliding_window);
  auto mlp = gated_mlp(config);
  mlp.gate = mlp.up = "gate_up_proj";
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add_layer(spec, config, layer, attends, mlp);
  return spec;
}

}  // namespace

/// Abdin et al., arXiv:2404.14219: Llama with q | k | v and gate | up as one matrix each.
const family phi3{
    .title = "Phi-3, Phi-4",
    .fields = {.family = "phi3",
               .sizes = {.vocabulary = 32064, .hidden = 3072, .layers = 32, .heads = 32, .intermediate = 8192},
               .tokens = {.bos = 1, .pad = 32000, .eos = 32000},
               .max_positions = 4096,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 1,
               .original_positions = 4096,
               .attention_bias = std::nullopt},
    .describe = describe_phi3};

}  // namespace cogen::models
