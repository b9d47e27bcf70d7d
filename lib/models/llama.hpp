#pragma once

#include "models/families.hpp"

#include <vector>

namespace cogen::models {

/// Llama 1 to 3 and the many models of the same shape: Touvron et al., arXiv:2302.13971 and arXiv:2307.09288; weights
/// named as in Transformers' modeling_llama.py.
std::unique_ptr<const network> make_llama(const load::config_fields& fields, const load::model_config& config,
                                          layers::weight_reader& weights);

/// The same with layers that cache what `shapes` says: for families with no other difference from Llama.
std::unique_ptr<const network> make_like_llama(const load::model_config& config, layers::weight_reader& weights,
                                               std::vector<cache::kv_cache_spec> shapes);

}  // namespace cogen::models
