#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <vector>

namespace cogen::models {

/// What a ModernBERT (Warner et al., arXiv:2412.13663) has besides the sizes of its layers.
struct modern_bert_fields {
  std::vector<bool> slides;  // by layer: whether it attends to a window
  load::rope_config global;  // of layers that attend to everything
  load::rope_config local;   // of layers that attend to a window
};

/// Throws load_error.
modern_bert_fields read_modern_bert_fields(const load::config_fields& fields, const load::model_config& config);

}  // namespace cogen::models
