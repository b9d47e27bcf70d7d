#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/kernels/rope.hpp"
#include "network/models/model_spec.hpp"

#include <cogen/extend/kv_layer.hpp>

#include <span>

namespace cogen::cpu {

/// Rotates queries and keys in place. qkv [step.tokens(), q|k|v]
void rotate_queries_and_keys(const forward_context& context, const kernels::rope_table& rope,
                             const models::attention_spec& spec, const activations& qkv);

/// How scores are made.
struct scored_heads {
  const models::attention_spec& spec;
  std::span<const float> sink_logits = {};      ///< as in weights::head_numbers
  std::span<const float> distance_biases = {};  ///< likewise
};

/// Attention over a cache layer of any kind, through append(), to_dense() and a boolean mask: the plain reference of
/// the kernels, and the path for layers that cannot be read in place.
///
/// qkv [step.tokens(), q|k|v]: rotates queries and keys, caches keys and values, writes the result over the queries.
/// Each query's sums run over its own keys in ascending order, so its result is batch-invariant, too. Allocates.
void attend_generically(const forward_context& context, cache::layer& layer, const kernels::rope_table* rope,
                        const scored_heads& heads, const activations& qkv);

}  // namespace cogen::cpu
