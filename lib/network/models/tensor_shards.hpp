#pragma once

#include "network/models/model_spec.hpp"
#include "network/parallel/place.hpp"

#include <cstdint>

namespace cogen::models {

/// What one rank has of a model whose layers are split over several (Shoeybi et al., arXiv:1909.08053): in each layer
/// heads with their keys and values, columns inside of feed-forwards, and experts; and rows of the vocabulary. With
/// fewer key heads than ranks, several have the same one. The results of the ranks' shards are added.
///
/// What cannot be split so, each rank has whole, and no shard in its spec says otherwise: blocks with fewer heads or
/// columns than ranks, norms across heads, low-rank adapters, thresholds over a row, and mixers with a state.
///
/// Columns are split at multiples of `unit`, the weights' quantization block, where there are enough of them.
model_spec shard_of(model_spec spec, std::int64_t vocabulary, parallel::place rank, std::int64_t unit);

/// The rows of a vocabulary that one rank has; all of them if there are more ranks than tokens.
shard vocabulary_shard(std::int64_t vocabulary, parallel::place rank);

/// The columns of the logits that one rank computes: those of its rows of the vocabulary.
shard logits_columns(std::int64_t vocabulary, parallel::place rank);

}  // namespace cogen::models
