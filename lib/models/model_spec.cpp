#include "models/model_spec.hpp"

namespace cogen::models {

std::vector<cache::kv_cache_spec> kv_cache_specs(const model_spec& spec) {
  std::vector<cache::kv_cache_spec> specs;
  for (const auto& block : spec.blocks) {
    if (const auto* attention = std::get_if<attention_spec>(&block.what)) specs.push_back(attention->kv);
    if (const auto* mamba = std::get_if<mamba_spec>(&block.what)) specs.push_back(mamba->kv());
  }
  return specs;
}

}  // namespace cogen::models
