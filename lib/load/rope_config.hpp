#pragma once

#include <cogen/load/model_config.hpp>

namespace cogen::load {

/// The one of config.json that stands for the model. Throws load_error.
rope_config read_rope_config(const config_fields& fields, const model_config& shape, double default_theta);

/// The keys "PREFIX.rope.…" of a GGUF file; `shape` has head_dim and max_positions already. Throws load_error.
rope_config read_gguf_rope_config(const config_fields& fields, const model_config& shape);

}  // namespace cogen::load
