#pragma once

#include "models/families.hpp"

namespace cogen::models {

/// Jamba: attention without positions in some layers, Mamba's mixer in the others, and experts in every other
/// feed-forward (Lieber et al., arXiv:2403.19887). Weights are named as in Transformers' modeling_jamba.py, each
/// expert's separately, as in files.
std::unique_ptr<const network> make_jamba(const load::config_fields& fields, const load::model_config& config,
                                          layers::weight_reader& weights);

}  // namespace cogen::models
