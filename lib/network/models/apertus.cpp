#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <string_view>

namespace cogen::models {
namespace {

model_spec describe_apertus(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = attention(config);
    attends.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps};
    add_sandwich(spec, config, layer, attends, plain_mlp(config, "up_proj", "down_proj"),
                 {.before_attention = "attention_layernorm",
                  .after_attention = "",
                  .before_mlp = "feedforward_layernorm",
                  .after_mlp = ""});
  }
  return spec;
}

/// Of a file without rotary settings.
constexpr std::string_view usual_rope =
    R"({"rope_type": "llama3", "rope_theta": 12000000, "factor": 8, "low_freq_factor": 1,
    "high_freq_factor": 4, "original_max_position_embeddings": 8192})";

}  // namespace

/// Swiss AI, arXiv:2509.14233: feed-forwards without a gate, whose activation has parameters of its own.
const family apertus{
    .title = "Apertus",
    .fields = {.family = "apertus",
               .sizes = {.vocabulary = 131072, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .pad = 3, .eos = 2},
               .keys = no_window_keys,
               .max_positions = 65536,
               .rms_norm_eps = 1e-5,
               .rope_theta = 12e6,
               .rope_parameters = usual_rope,
               .activation = "xielu"},
    .describe = describe_apertus};

}  // namespace cogen::models
