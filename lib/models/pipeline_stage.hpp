#pragma once

#include "models/model_spec.hpp"
#include "parallel/place.hpp"

namespace cogen::models {

/// The blocks that one stage of a pipeline has of a model, whose layers are dealt out evenly and in order. Embedding
/// and head stay in the spec. Throws std::invalid_argument if the model has fewer layers than there are stages, or if a
/// block reads more of earlier ones than their result.
model_spec stage_of(model_spec spec, parallel::place stage);

}  // namespace cogen::models
