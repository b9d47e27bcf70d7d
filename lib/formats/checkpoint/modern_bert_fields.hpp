#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <vector>

namespace cogen::load {

/// What a ModernBERT (Warner et al., arXiv:2412.13663) has besides the sizes of its layers.
struct modern_bert_fields {
  std::vector<bool> slides;  // by layer: whether it attends to a window
  rope_config global;        // of layers that attend to everything
  rope_config local;         // of layers that attend to a window
};

/// Throws load_error.
modern_bert_fields read_modern_bert_fields(const config_fields& fields, const model_config& config);

}  // namespace cogen::load
