#pragma once

#include "network/models/model_spec.hpp"
#include "network/parallel/place.hpp"

namespace cogen::models {

/// The blocks that one stage of a pipeline has of a model, whose layers are dealt out evenly and in order; those that
/// share keys and values have one stage. All else stays in the spec. Throws std::invalid_argument if the model has
/// fewer layers than there are stages, or makes vectors of texts.
model_spec stage_of(model_spec spec, parallel::place stage);

/// Whether blocks read the tokens or their embeddings besides hidden states, as each stage makes them for itself.
bool reads_embeddings(const model_spec& spec);

}  // namespace cogen::models
