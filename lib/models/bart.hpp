#pragma once

#include "models/families.hpp"

namespace cogen::models {

/// BART (Lewis et al., arXiv:1910.13461): an encoder, and a decoder that attends to its output; weights named as in
/// Transformers' modeling_bart.py, with or without "model." before them.
std::unique_ptr<const network> make_bart(const load::config_fields& fields, const load::model_config& config,
                                         layers::weight_reader& weights);

}  // namespace cogen::models
