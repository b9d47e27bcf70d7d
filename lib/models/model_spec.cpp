#include "models/model_spec.hpp"

namespace cogen::models {

attention_spec latent_attention_spec::absorbed() const {
  attention_spec made{.heads = heads, .kv_heads = 1, .head_dim = row_dim(), .scale = scale, .rope = rope, .kv = kv()};
  made.rope->first_dim = kv_rank;
  made.query_growth = query_growth;
  return made;
}

std::vector<cache::kv_cache_spec> kv_cache_specs(const model_spec& spec) {
  std::vector<cache::kv_cache_spec> specs;
  for (const auto& block : spec.blocks) {
    std::visit(
        [&](const auto& what) {
          if constexpr (requires { what.kv(); })
            specs.push_back(what.kv());
          else if constexpr (requires { what.shared_kv; })
            if (!what.shared_kv) specs.push_back(what.kv);
        },
        block.what);
  }
  return specs;
}

}  // namespace cogen::models
