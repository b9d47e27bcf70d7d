#include "network/nn/text_memory.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

namespace cogen::nn {

namespace {

/// Blocks that treat each token by itself need no memory.
bool reads_texts(const models::block_spec& block) {
  return std::holds_alternative<models::attention_spec>(block.part) ||
         std::holds_alternative<models::mlp_spec>(block.part) || std::holds_alternative<models::moe_spec>(block.part);
}

}  // namespace

std::optional<cache::kv_cache_spec> text_memory_of(const models::model_spec& spec) {
  if (!spec.pooling) return std::nullopt;
  const auto layers = models::kv_cache_specs(spec);
  const auto first = layers.empty() ? cache::kv_cache_spec() : layers.front();
  const bool alike = std::ranges::all_of(
      layers, [&](const auto& layer) { return layer.kv_heads == first.kv_heads && layer.head_dim == first.head_dim; });
  if (layers.empty() || !alike || !std::ranges::all_of(spec.blocks, reads_texts))
    throw std::invalid_argument("vectors of texts are made by models whose layers all attend with the same heads");
  return first;
}

std::vector<cache::kv_cache_spec> cached_layers_of(const models::model_spec& spec) {
  if (models::is_encoder_only(spec)) return {{.kind = cache::layer_kind::recurrent, .state = 1}};
  return models::kv_cache_specs(spec);
}

}  // namespace cogen::nn
