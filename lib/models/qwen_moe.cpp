#include "models/families.hpp"
#include "models/like_llama.hpp"
#include "models/mixture.hpp"

#include <algorithm>

namespace cogen::models {

model_spec qwen2(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3(const load::config_fields& fields, const load::model_config& config);

namespace {

/// Every `decoder_sparse_step`-th layer has experts, but for those of a list.
void put_experts(const load::config_fields& fields, const load::model_config& config, const moe_spec& experts,
                 model_spec& spec) {
  const auto without = fields.integers("mlp_only_layers", {0, config.layers - 1});
  const auto step = fields.integer("decoder_sparse_step", {1, 1 << 12}, 1);
  put_experts(spec, experts, "mlp.", [&](std::int64_t layer) {
    return (layer + 1) % step == 0 && std::ranges::find(without, layer) == without.end();
  });
}

}  // namespace

/// Yang et al., arXiv:2407.10671: Qwen 2 with experts, of which one is for all rows.
model_spec qwen2_moe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 60, .top_k = 4, .width = 1408});
  experts.router.renormalized = fields.boolean("norm_topk_prob", false);
  const auto width = fields.integer("shared_expert_intermediate_size", {1, 1 << 20}, 5632);
  experts.shared = {.mlp = gated_mlp(config, width, "shared_expert."), .gate = "shared_expert_gate"};
  auto spec = qwen2(fields, config);
  put_experts(fields, config, experts, spec);
  return spec;
}

/// Yang et al., arXiv:2505.09388: Qwen 3 with experts. GGUF files do not say that shares are renormalized.
model_spec qwen3_moe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 128, .top_k = 8, .width = 768});
  const bool is_gguf = fields.origin() == load::config_fields::source::gguf;
  experts.router.renormalized = fields.boolean("norm_topk_prob", is_gguf);
  auto spec = qwen3(fields, config);
  put_experts(fields, config, experts, spec);
  return spec;
}

}  // namespace cogen::models
