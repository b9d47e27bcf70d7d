#pragma once

#include "network/models/model_spec.hpp"

#include <cogen/load/checkpoint.hpp>

namespace cogen::models {

/// The spec, pooled as a GGUF file says. Its vectors are normalized, as llama.cpp's tools do; a file with a
/// classifier's tensors makes scores. Throws load::load_error for a decoder that scores or attends both ways, and for
/// a number that names no pooling.
model_spec pooled_as_gguf(model_spec spec, const load::checkpoint& files);

}  // namespace cogen::models
