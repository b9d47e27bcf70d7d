#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_ministral(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = sliding_layers(fields, config, [&](std::int64_t) { return config.sliding_window.has_value(); });
  return like_llama(config, [&](std::int64_t layer) {
    auto made = attention(config);
    if (windows[static_cast<std::size_t>(layer)]) made.kv = sliding(config, *config.sliding_window);
    return made;
  });
}

model_spec describe_ministral3(const load::config_fields& fields, const load::model_config& config) {
  const std::string object = fields.has("rope_parameters") ? "rope_parameters." : "rope_scaling.";
  const query_growth_spec growth{.beta = fields.real(object + "llama_4_scaling_beta", {0, 1e6}, 0),
                                 .length = config.rope.original_positions};
  return like_llama(config, [&](std::int64_t) {
    auto made = attention(config);
    if (growth.beta > 0 && growth.length > 0) made.query_growth = growth;
    if (config.sliding_window) made.kv = sliding(config, *config.sliding_window);
    return made;
  });
}

}  // namespace

/// Mistral with windows in some layers.
const family ministral{.title = "Ministral",
                       .fields = {.family = "ministral",
                                  .gguf = {.known = false},
                                  .kv_heads = 8,
                                  .max_positions = 131072,
                                  .sliding_window = 4096},
                       .describe = describe_ministral};

/// Ministral 3: Mistral whose queries grow with their position.
const family ministral3{.title = "Ministral 3",
                        .fields = {.family = "ministral3",
                                   .gguf = {.architecture = "mistral3", .interleaved = true},
                                   .kv_heads = 8,
                                   .head_dim = 128,
                                   .max_positions = 262144,
                                   .rms_norm_eps = 1e-5},
                        .describe = describe_ministral3};

}  // namespace cogen::models
