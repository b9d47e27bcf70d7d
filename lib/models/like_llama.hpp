#pragma once

#include "models/model_spec.hpp"

#include <cstdint>
#include <string>

namespace cogen::models {

// Parts of Llama (Touvron et al., arXiv:2302.13971 and arXiv:2307.09288), from which most decoders differ in details.
// Weights are named as in Transformers' modeling_llama.py.

/// "model.layers.7."
std::string layer_prefix(std::int64_t layer);

norm_spec rms_norm(const load::model_config& config, std::string name);

/// Attention to all earlier tokens, scaled by 1 / sqrt(head_dim).
attention_spec attention(const load::model_config& config);

/// What a layer caches that attends to the last `window` tokens. A window that covers all positions of the model counts
/// as none.
cache::kv_cache_spec sliding(const load::model_config& config, std::int64_t window);
cache::kv_cache_spec full(const load::model_config& config);

mlp_spec gated_mlp(const load::model_config& config);

/// A model with an embedding, a last norm and a head, and no blocks.
model_spec decoder(const load::model_config& config);

/// Adds what Llama's layers are made of: attention and feed-forward, each behind a norm.
void add_layer(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention);

/// Llama, with the attention that attention_of(LAYER) returns.
template <class AttentionOf>
model_spec like_llama(const load::model_config& config, const AttentionOf& attention_of) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add_layer(spec, config, layer, attention_of(layer));
  return spec;
}

/// The function of a name that load::model_config::activation may have. Throws std::invalid_argument for others.
kernels::activation activation_named(std::string_view name);

}  // namespace cogen::models
