#include "network/models/batch_invariance.hpp"

#include <variant>

namespace cogen::models {

namespace {

using name = std::optional<std::string_view>;

name variant_part(const std::optional<norm_spec>& norm) {
  if (!norm || norm->name.empty()) return {};
  if (norm->type == norm_spec::kind::layer) return "layer norms";
  if (norm->weight_offset != 0 || norm->bias) return "norms with an offset or a bias";
  return {};
}

name variant_part(const attention_spec& attention) {
  if (!attention.adapters.empty()) return "adapters";
  if (attention.kv.kind == cache::layer_kind::cross || !attention.causal) return "encoders";
  if (attention.qk_norm) return "norms of queries, keys or values";
  if (attention.kv.latent_dim > 0) return "latent attention";
  if (attention.softcap > 0) return "scores with a cap";
  if (!attention.sink_logits.empty()) return "scores of sinks";
  if (attention.alibi || attention.relative_bias) return "scores with biases of distances";
  if (attention.kv.kind == cache::layer_kind::chunked) return "attention within chunks";
  return {};
}

name variant_part(const mlp_spec& mlp) {
  if (!mlp.adapters.empty()) return "adapters";
  if (mlp.gate_cutoff) return "gates that are cut off";
  return {};
}

name variant_part(const linear_spec&) { return {}; }
name variant_part(const latent_attention_spec&) { return "latent attention"; }
name variant_part(const moe_spec&) { return "experts"; }
name variant_part(const layer_input_spec&) { return "inputs of layers"; }
name variant_part(const low_rank_spec&) { return "products of low rank"; }
name variant_part(const stream_step_spec&) { return "streams of hidden states"; }

template <class Recurrent>
name variant_part(const Recurrent&) {
  return "recurrent layers";
}

name variant_part(const block_spec& block) {
  if (const auto found = variant_part(block.pre_norm)) return found;
  if (const auto found = std::visit([](const auto& part) { return variant_part(part); }, block.part)) return found;
  if (block.after) return "norms of a block's result";
  if (block.post || block.shared_norm) return "norms of a sum";
  return {};
}

}  // namespace

std::optional<std::string_view> batch_variant_part(const model_spec& spec) {
  if (spec.encoder) return "encoders";
  if (spec.embedding.norm) return "norms of embeddings";
  if (spec.layer_inputs) return "inputs of layers";
  if (spec.streams) return "streams of hidden states";
  for (const auto& block : spec.blocks)
    if (const auto found = variant_part(block)) return found;
  return variant_part(spec.final_norm);
}

}  // namespace cogen::models
