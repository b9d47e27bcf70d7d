#include "models/attention_shapes.hpp"

namespace cogen::models {

cache::kv_cache_spec full_layer(const load::model_config& config) {
  return {.kv_heads = static_cast<int>(config.kv_heads), .head_dim = static_cast<int>(config.head_dim)};
}

cache::kv_cache_spec sliding_layer(const load::model_config& config) {
  auto shape = full_layer(config);
  if (config.sliding_window.value() >= config.max_positions) return shape;
  shape.kind = cache::layer_kind::sliding;
  shape.window = static_cast<int>(config.sliding_window.value());
  return shape;
}

}  // namespace cogen::models
