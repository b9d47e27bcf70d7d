#pragma once

#include "models/families.hpp"

namespace cogen::models {

/// Mamba: Gu and Dao, arXiv:2312.00752; weights named as in Transformers' modeling_mamba.py.
std::unique_ptr<const network> make_mamba(const load::config_fields& fields, const load::model_config& config,
                                          layers::weight_reader& weights);

}  // namespace cogen::models
