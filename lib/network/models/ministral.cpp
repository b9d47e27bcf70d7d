#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <optional>
#include <string_view>

namespace cogen::models {
namespace {

model_spec describe_ministral(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = sliding_layers(fields, config, [&](std::int64_t) { return config.sliding_window.has_value(); });
  return like_llama(config, [&](std::int64_t layer) {
    auto self_attn = attention(config);
    if (windows[static_cast<std::size_t>(layer)]) self_attn.kv = sliding(config, *config.sliding_window);
    return self_attn;
  });
}

model_spec describe_ministral3(const load::config_fields& fields, const load::model_config& config) {
  const auto growth = query_growth(fields, config);
  return like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    self_attn.query_growth = growth;
    if (config.sliding_window) self_attn.kv = sliding(config, *config.sliding_window);
    return self_attn;
  });
}

/// Of a file without rotary settings.
constexpr std::string_view usual_ministral3_rope =
    R"({"rope_type": "yarn", "rope_theta": 1000000, "factor": 16, "mscale": 1, "mscale_all_dim": 1,
    "original_max_position_embeddings": 16384, "llama_4_scaling_beta": 0.1})";

}  // namespace

/// Mistral with windows in some layers.
const family ministral{
    .title = "Ministral",
    .fields = {.family = "ministral",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.known = false},
               .kv_heads = 8,
               .max_positions = 131072,
               .sliding_window = 4096,
               .attention_bias = std::nullopt},
    .describe = describe_ministral};

/// Ministral 3: Mistral whose queries grow with their position.
const family ministral3{
    .title = "Ministral 3",
    .fields = {.family = "ministral3",
               .sizes = {.vocabulary = 131072, .hidden = 4096, .layers = 34, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .pad = 11, .eos = 2},
               .gguf = {.architecture = "mistral3", .interleaved = true},
               .kv_heads = 8,
               .head_dim = 128,
               .max_positions = 262144,
               .rms_norm_eps = 1e-5,
               .rope_parameters = usual_ministral3_rope,
               .attention_bias = std::nullopt},
    .describe = describe_ministral3};

}  // namespace cogen::models
