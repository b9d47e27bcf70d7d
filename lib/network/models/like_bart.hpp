#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/model_spec.hpp"

#include <cogen/load/model_config.hpp>

namespace cogen::models {

/// How a family of BART's shape differs from it.
struct bart_differences {
  bool norms_before = false;        ///< each half of a layer is normed before it, and the last result once more
  bool embedding_norm = true;       ///< of tokens and positions together
  bool scaled_embedding = false;    ///< by the square root of hidden, if the configuration does not say
  bool logits_bias = true;          ///< a row "final_logits_bias"
  std::int64_t first_position = 2;  ///< its row in the table
  std::int64_t sinusoid_steps = 0;  ///< as position_table_spec's
};

/// An encoder, and a decoder whose layers attend to its output; weights named as in Transformers' modeling_bart.py.
model_spec like_bart(const load::config_fields& fields, const load::model_config& config,
                     const bart_differences& differs = {});

}  // namespace cogen::models
