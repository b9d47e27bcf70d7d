#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>

namespace cogen::models {

/// What a BART (Lewis et al., arXiv:1910.13461), or a model of its shape, has besides its decoder.
struct bart_fields {
  std::int64_t encoder_layers = 0;
  std::int64_t encoder_heads = 0;  // they divide hidden
  std::int64_t encoder_intermediate = 0;
  bool scale_embedding = false;  // embeddings are multiplied by the square root of hidden
};

/// Embeddings are scaled as given here if the configuration does not say. Throws load_error.
bart_fields read_bart_fields(const load::config_fields& fields, const load::model_config& config,
                             bool scale_embedding = false);

}  // namespace cogen::models
