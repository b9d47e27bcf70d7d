#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/families.hpp"
#include "network/models/model_spec.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::models {

// Parts of Llama (Touvron et al., arXiv:2302.13971 and arXiv:2307.09288), from which most decoders differ in details.
// Weights are named as in Transformers' modeling_llama.py.

/// "model.layers.7."
std::string layer_prefix(std::int64_t layer);

norm_spec rms_norm(const load::model_config& config, std::string name);
norm_spec layer_norm(const load::model_config& config, std::string name, bool bias = true);

/// Attention to all earlier tokens, scaled by 1 / sqrt(head_dim).
attention_spec attention(const load::model_config& config);

/// What a layer caches that attends to the last `window` tokens. A window that covers all positions of the model counts
/// as none.
cache::kv_cache_spec sliding(const load::model_config& config, std::int64_t window);
cache::kv_cache_spec full(const load::model_config& config);
/// The same of one that attends to earlier tokens of its own chunk.
cache::kv_cache_spec chunked(const load::model_config& config, std::int64_t chunk);

mlp_spec gated_mlp(const load::model_config& config);

/// What the ends of a decoder are called. The embedding's name follows the base.
struct decoder_names {
  std::string base = "model.";
  std::string embedding = "embed_tokens";
  std::string head = "lm_head";
};

/// A model with an embedding, a last norm and a head, and no blocks.
model_spec decoder(const load::model_config& config, std::optional<norm_spec> final_norm,
                   const decoder_names& names = {});

/// The same with Llama's last norm.
model_spec decoder(const load::model_config& config);

/// Without a gate; weights are called UP and DOWN.
mlp_spec plain_mlp(const load::model_config& config, std::string up, std::string down);

/// Adds what Llama's layers are made of: attention and feed-forward, each behind a norm.
void add_layer(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention);
void add_layer(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention,
               mlp_spec mlp);

/// The same with layer norms, whose weights get the offset.
void add_layer_normed(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention,
                      mlp_spec mlp, float weight_offset = 0);

/// Adds the same with norms before and after each half, in order of their names.
struct sandwich_norms {
  std::string_view before_attention = "input_layernorm";
  std::string_view after_attention = "post_attention_layernorm";
  std::string_view before_mlp = "pre_feedforward_layernorm";
  std::string_view after_mlp = "post_feedforward_layernorm";
};
/// Empty names: there is no norm. Weights of norms get the offset.
void add_sandwich(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention,
                  mlp_spec mlp, const sandwich_norms& names, float weight_offset = 0);

/// Layers of one of two mixers and a feed-forward, each behind a norm. Names follow the layer's.
struct hybrid_layers {
  std::vector<bool> attends;  ///< whether a layer's mixer is the attention
  attention_spec attention;
  decltype(block_spec::part) other;
  std::string_view other_prefix;
  mlp_spec mlp;
  std::string_view mlp_prefix = "mlp.";
  std::string_view before_mixer = "input_layernorm";
  std::string_view before_mlp = "post_attention_layernorm";
  float weight_offset = 0;  ///< of the norms
};
void add_layers(model_spec& spec, const load::model_config& config, const hybrid_layers& layers);

/// Adds attention and a feed-forward that both read the same norm of x.
void add_parallel(model_spec& spec, std::int64_t layer, attention_spec attention, mlp_spec mlp,
                  const norm_spec& pre_norm);

/// For each layer whether it attends to a window: by "layer_types" or, where the file has none, by `fallback`(LAYER).
/// Throws load::load_error for a type that is not known, or a window that is missing.
std::vector<bool> sliding_layers(const load::config_fields& fields, const load::model_config& config,
                                 const std::function<bool(std::int64_t)>& fallback);

/// For each layer whether it rotates: by "no_rope_layers", which has a 0 or 1 for each, or all but every
/// "no_rope_layer_interval"-th, every fourth if nothing is said. Throws load::load_error.
std::vector<bool> rotating_layers(const load::config_fields& fields, const load::model_config& config);

/// As checkpoints are published that have encoders of images or sounds, whose tensors are not read: names get the base.
model_spec beside_encoders(model_spec spec, const std::string& base, std::span<const std::string_view> encoders);

/// Of the family Text, as checkpoints are published with encoders.
template <const family& Text, const auto& Encoders>
model_spec describe_beside_encoders(const load::config_fields& fields, const load::model_config& config) {
  return beside_encoders(Text.describe(fields, config), "model.language_model.", Encoders);
}

/// Gives all names another base.
void put_under(const std::string& base, model_spec& spec);

/// For each layer whether its entry of "layer_types" is `this_one`. Throws load::load_error for an entry that is
/// neither this nor the other.
std::vector<bool> layers_of_type(const load::config_fields& fields, const load::model_config& config,
                                 std::string_view this_one, std::string_view other);

/// Queries that grow with their position, where "llama_4_scaling_beta" among the settings of the rotation says so.
/// Throws load::load_error.
std::optional<query_growth_spec> query_growth(const load::config_fields& fields, const load::model_config& config);

/// 2^(-8 (i + 1) / heads) for a power of two; for another number, every other one of the next power's are added to
/// those of the power below (Press et al., arXiv:2108.12409).
alibi_spec alibi(int heads);

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
