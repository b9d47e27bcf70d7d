#include "network/models/model_spec.hpp"

#include <algorithm>

namespace cogen::models {

attention_spec latent_attention_spec::absorbed() const {
  attention_spec attention{
      .heads = heads, .kv_heads = 1, .head_dim = row_dim(), .scale = scale, .rope = rope, .kv = kv()};
  attention.rope->first_dim = kv_rank;
  attention.query_growth = query_growth;
  return attention;
}

namespace {

void add_kv_cache_specs(const std::vector<block_spec>& blocks, std::vector<cache::kv_cache_spec>& specs) {
  for (const auto& block : blocks) {
    std::visit(
        [&](const auto& part) {
          if constexpr (requires { part.kv(); })
            specs.push_back(part.kv());
          else if constexpr (requires { part.shared_kv; })
            if (!part.shared_kv) specs.push_back(part.kv);
        },
        block.part);
  }
}

}  // namespace

std::vector<cache::kv_cache_spec> kv_cache_specs(const model_spec& spec) {
  std::vector<cache::kv_cache_spec> specs;
  add_kv_cache_specs(spec.blocks, specs);
  if (spec.mtp) add_kv_cache_specs(spec.mtp->blocks, specs);
  return specs;
}

void tie_head(model_spec& spec) {
  const auto head = spec.head.names;
  spec.head.names.insert(spec.head.names.end(), spec.embedding.names.begin(), spec.embedding.names.end());
  spec.embedding.names.insert(spec.embedding.names.end(), head.begin(), head.end());
}

bool is_encoder_only(const model_spec& spec) {
  return std::ranges::any_of(spec.blocks, [](const block_spec& block) {
    const auto* attention = std::get_if<attention_spec>(&block.part);
    return attention && !attention->causal;
  });
}

}  // namespace cogen::models
