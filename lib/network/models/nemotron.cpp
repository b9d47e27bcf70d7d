#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_nemotron(const load::config_fields&, const load::model_config& config) {
  constexpr float offset = 1;
  auto spec = decoder(config, layer_norm(config, "model.norm"));
  spec.final_norm->weight_offset = offset;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_layer_normed(spec, config, layer, attention(config), plain_mlp(config, "up_proj", "down_proj"), offset);
  return spec;
}

}  // namespace

/// NVIDIA, arXiv:2402.16819: norms' weights count from 1.
const family nemotron{
    .title = "Nemotron",
    .fields = {.family = "nemotron",
               .sizes = {.vocabulary = 256000, .hidden = 6144, .layers = 32, .heads = 48, .intermediate = 24576},
               .tokens = {.bos = 2, .eos = 3},
               .keys = no_window_norm_eps_keys,
               .max_positions = 4096,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 0.5,
               .activation = "relu2",
               .mlp_bias = false},
    .describe = describe_nemotron};

}  // namespace cogen::models
