#pragma once

#include "models/families.hpp"

namespace cogen::models {

/// The text model of Gemma 3 (arXiv:2503.19786): most layers have sliding attention, some full, each kind with its own
/// rotations; weights named as in Transformers' modeling_gemma3.py.
std::unique_ptr<const network> make_gemma3(const load::config_fields& fields, const load::model_config& config,
                                           layers::weight_reader& weights);

}  // namespace cogen::models
