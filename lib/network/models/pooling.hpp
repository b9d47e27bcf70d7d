#pragma once

#include "network/models/model_spec.hpp"

#include <cogen/load/checkpoint.hpp>

namespace cogen::models {

/// The spec, pooled as the checkpoint says: by the modules of Sentence Transformers, or by pooled_as_gguf(). Throws
/// load::load_error.
model_spec with_pooling(model_spec spec, const load::checkpoint& files);

}  // namespace cogen::models
