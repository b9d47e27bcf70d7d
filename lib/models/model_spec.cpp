#include "models/model_spec.hpp"

namespace cogen::models {

std::vector<cache::kv_cache_spec> kv_cache_specs(const model_spec& spec) {
  std::vector<cache::kv_cache_spec> specs;
  for (const auto& block : spec.blocks) {
    std::visit(
        [&](const auto& what) {
          if constexpr (requires { what.kv(); })
            specs.push_back(what.kv());
          else if constexpr (requires { what.kv; })
            specs.push_back(what.kv);
        },
        block.what);
  }
  return specs;
}

}  // namespace cogen::models
