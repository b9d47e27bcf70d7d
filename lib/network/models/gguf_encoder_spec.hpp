#pragma once

#include "network/models/model_spec.hpp"

namespace cogen::models {

/// A description of an encoder and a decoder with the names that its tensors have in a GGUF file.
model_spec with_encoder_as_gguf(model_spec spec);

}  // namespace cogen::models
