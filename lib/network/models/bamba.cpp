#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"

#include <vector>

namespace cogen::models {
namespace {

model_spec describe_bamba(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Bamba's is silu");
  std::vector<bool> attends(static_cast<std::size_t>(config.layers));
  for (const auto layer : fields.integers("attn_layer_indices", {0, config.layers - 1}))
    attends[static_cast<std::size_t>(layer)] = true;
  auto spec = decoder(config, rms_norm(config, "model.final_layernorm"));
  add_layers(spec, config,
             {.attends = attends,
              .attention = attention(config),
              .other = mamba2_mixer(fields, read_granite_mamba2_fields(fields, config), config),
              .other_prefix = "mamba.",
              .mlp = gated_mlp(config),
              .mlp_prefix = "feed_forward.",
              .before_mlp = "pre_ff_layernorm"});
  return spec;
}

}  // namespace

/// IBM, Princeton, CMU and UIUC, 2024: Mamba-2 in most layers, Llama's attention, which rotates half of each head, in
/// the others.
const family bamba{
    .title = "Bamba",
    .fields = {.family = "bamba",
               .sizes = {.vocabulary = 128000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .pad = 0, .eos = 2},
               .gguf = {.architecture = "granitehybrid"},
               .keys = no_window_keys,
               .kv_heads = 8,
               .max_positions = 262144,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 0.5,
               .mlp_bias = false},
    .describe = describe_bamba};

}  // namespace cogen::models
