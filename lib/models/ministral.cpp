#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {

/// Mistral with windows in some layers.
model_spec ministral(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = sliding_layers(fields, config, [&](std::int64_t) { return config.sliding_window.has_value(); });
  return like_llama(config, [&](std::int64_t layer) {
    auto made = attention(config);
    if (windows[static_cast<std::size_t>(layer)]) made.kv = sliding(config, *config.sliding_window);
    return made;
  });
}

/// Ministral 3: Mistral whose queries grow with their position.
model_spec ministral3(const load::config_fields& fields, const load::model_config& config) {
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

}  // namespace cogen::models
