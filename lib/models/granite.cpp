#include "models/families.hpp"
#include "models/like_llama.hpp"
#include "models/mixture.hpp"

namespace cogen::models {

namespace {

constexpr load::real_range multipliers{1e-9, 1e9};

}  // namespace

/// Granite Team, IBM: Llama with four multipliers. Logits are divided by theirs.
model_spec granite(const load::config_fields& fields, const load::model_config& config) {
  const auto multiplier = [&](std::string_view key) { return fields.real(key, multipliers, 1); };
  auto spec = like_llama(config, [&](std::int64_t) {
    auto made = attention(config);
    made.scale = multiplier("attention_multiplier");
    return made;
  });
  spec.embedding.scale = multiplier("embedding_multiplier");
  spec.head.scale = 1 / multiplier("logits_scaling");
  for (auto& block : spec.blocks) block.residual_scale = static_cast<float>(multiplier("residual_multiplier"));
  return spec;
}

/// Granite 3's experts: one tensor holds all of a layer, gate and up in one.
model_spec granitemoe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 8, .top_k = 2});
  experts.expert.gate = experts.expert.up = "input_linear";
  experts.expert.down = "output_linear";
  experts.stacked = true;
  experts.router.name = "router.layer";
  experts.router.renormalized = true;
  auto spec = granite(fields, config);
  put_experts(spec, experts, "block_sparse_moe.");
  return spec;
}

}  // namespace cogen::models
