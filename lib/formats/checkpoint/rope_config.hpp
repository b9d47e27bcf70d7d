#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <optional>
#include <string_view>

namespace cogen::load {

/// What a family takes for keys that are left out.
struct rope_defaults {
  double theta = 10000;
  std::optional<double> partial_factor = {};  // empty: heads rotate as a whole
  std::int64_t original_positions = 0;        // 0: max_positions, unless the object says
};

/// The rotary encoding in one object of config.json, such as "rope_parameters.sliding_attention", for families with
/// different layers; "" is the top level. `shape` has head_dim and max_positions; `defaults` are used for what neither
/// object has. Throws load_error.
rope_config read_rope_config(const config_fields& fields, std::string_view object, const model_config& shape,
                             const rope_defaults& defaults = {});

/// The one of config.json that stands for the model. Throws load_error.
rope_config read_rope_config(const config_fields& fields, const model_config& shape, const rope_defaults& defaults);

/// The keys "PREFIX.rope.…" of a GGUF file; `shape` has head_dim and max_positions already. Throws load_error.
rope_config read_gguf_rope_config(const config_fields& fields, const model_config& shape);

}  // namespace cogen::load
