#include "models/mistral.hpp"

#include "models/attention_shapes.hpp"
#include "models/llama.hpp"

namespace cogen::models {

std::unique_ptr<const network> make_mistral(const load::config_fields&, const load::model_config& config,
                                            layers::weight_reader& weights) {
  const auto layers = static_cast<std::size_t>(config.layers);
  const auto shape = config.sliding_window ? sliding_layer(config) : full_layer(config);
  return make_like_llama(config, weights, std::vector(layers, shape));
}

}  // namespace cogen::models
