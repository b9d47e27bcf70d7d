#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/model_spec.hpp"

namespace cogen::models {

/// The same model with its weights as llama.cpp's converter writes them: under GGUF's names, matrices as
/// [outputs, inputs], queries | keys | values of all heads one after the other, offsets added to the weights of norms,
/// and linear biases where the file has them. `fields` are the file's. Throws load::load_error.
model_spec as_gguf(model_spec spec, const load::config_fields& fields);

}  // namespace cogen::models
