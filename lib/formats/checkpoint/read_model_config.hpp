#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

namespace cogen::load {

/// Reads and checks the fields of model_config. Throws load_error naming key, value and limit. Hugging Face: both
/// `rope_theta` with `rope_scaling` and `rope_parameters`. GGUF: checkpoint::config() adds tied embeddings and listed
/// frequencies.
model_config read_model_config(const config_fields& fields);

/// Replaces the end tokens by those of generation_config.json, if it names any, as Transformers' generate() does.
void read_generation_config(const config_fields& fields, model_config& config);

}  // namespace cogen::load
