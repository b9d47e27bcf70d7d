#pragma once

#include "models/families.hpp"

namespace cogen::models {

/// Mistral (Jiang et al., arXiv:2310.06825): a Llama in which all layers may have sliding attention; weights named as
/// in Transformers' modeling_mistral.py.
std::unique_ptr<const network> make_mistral(const load::config_fields& fields, const load::model_config& config,
                                            layers::weight_reader& weights);

}  // namespace cogen::models
