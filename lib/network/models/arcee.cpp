#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_arcee(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_layer(spec, config, layer, attention(config), plain_mlp(config, "up_proj", "down_proj"));
  return spec;
}

}  // namespace

/// Arcee AI: feed-forwards without a gate.
const family arcee{
    .title = "Arcee (AFM)",
    .fields = {.family = "arcee",
               .sizes = {.vocabulary = 32000, .hidden = 2560, .layers = 32, .heads = 32, .intermediate = 18432},
               .tokens = {.bos = 128000, .eos = 128001},
               .gguf = {.interleaved = true},
               .keys = no_window_keys,
               .max_positions = 4096,
               .rms_norm_eps = 1e-5,
               .activation = "relu2",
               .mlp_bias = false},
    .describe = describe_arcee};

}  // namespace cogen::models
