#include "network/models/mixture.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cogen::models {

namespace {

std::string_view routed_key(const load::config_fields& fields) {
  constexpr std::array names{"num_local_experts", "n_routed_experts"};
  const auto found = std::ranges::find_if(names, [&](auto name) { return fields.has(name); });
  return found == names.end() ? "num_experts" : *found;
}

/// Experts of groups of one size, of which the best groups hold enough.
void read_groups(const load::config_fields& fields, const mixture_defaults& missing, moe_spec& mixture) {
  auto& router = mixture.router;
  router.groups = fields.integer("n_group", {1, mixture.experts}, missing.groups);
  router.top_groups = fields.integer("topk_group", {1, router.groups}, missing.top_groups);
  if (mixture.experts % router.groups != 0)
    fields.refuse("n_group", fmt::format("{} experts must be a multiple of it", mixture.experts));
  if (const auto most = mixture.experts / router.groups * router.top_groups; mixture.top_k > most)
    fields.refuse("topk_group", fmt::format("these groups have {} experts, and {} are chosen", most, mixture.top_k));
}

/// Experts for all rows are one feed-forward.
void share(const load::config_fields& fields, const load::model_config& config, std::int64_t missing,
           moe_spec& mixture) {
  const auto count = fields.integer("n_shared_experts", load::expert_counts, missing);
  mixture.shared = {.mlp = gated_mlp(config, count * mixture.expert.intermediate, "shared_experts.")};
}

}  // namespace

mlp_spec gated_mlp(const load::model_config& config, std::int64_t width, std::string_view prefix) {
  auto mlp = gated_mlp(config);
  mlp.intermediate = width;
  for (auto* name : {&mlp.gate, &mlp.up, &mlp.down}) name->insert(0, prefix);
  return mlp;
}

moe_spec mixture(const load::config_fields& fields, const load::model_config& config, const mixture_defaults& missing) {
  const auto width = missing.width == 0 ? config.intermediate : missing.width;
  moe_spec moe{.expert = gated_mlp(config, fields.integer("moe_intermediate_size", load::hidden_widths, width), ""),
               .experts = fields.integer(routed_key(fields), load::expert_counts, missing.experts)};
  const load::integer_range chosen{1, moe.experts};
  const auto usual = fields.is_gguf() ? std::min(missing.top_k, moe.experts) : missing.top_k;
  moe.top_k = missing.top_k == 0 ? fields.integer("num_experts_per_tok", chosen)
                                 : fields.integer("num_experts_per_tok", chosen, usual);
  moe.expert.bias = false;
  moe.router.name = "gate";
  return moe;
}

moe_spec sigmoid_mixture(const load::config_fields& fields, const load::model_config& config,
                         const mixture_defaults& missing) {
  auto moe = mixture(fields, config, missing);
  moe.router.scores = router_spec::scoring::sigmoid;
  moe.router.choice_bias = "gate.e_score_correction_bias";
  moe.router.scale = fields.real("routed_scaling_factor", load::multipliers, missing.scale);
  read_groups(fields, missing, moe);
  moe.router.groups_by = router_spec::group_scoring::two_best;
  share(fields, config, missing.shared, moe);
  return moe;
}

moe_spec softmax_mixture(const load::config_fields& fields, const load::model_config& config,
                         const mixture_defaults& missing, bool grouped) {
  auto moe = mixture(fields, config, missing);
  moe.router.scale = fields.real("routed_scaling_factor", load::multipliers, 1);
  if (grouped) read_groups(fields, missing, moe);
  share(fields, config, missing.shared, moe);
  return moe;
}

void put_experts(model_spec& spec, const moe_spec& experts, std::string_view prefix,
                 const std::function<bool(std::int64_t)>& has_experts) {
  std::int64_t layer = -1;
  for (auto& block : spec.blocks) {
    if (!std::holds_alternative<mlp_spec>(block.part)) {
      ++layer;
    } else if (has_experts(layer)) {
      block.part = experts;
      block.prefix = layer_prefix(layer).append(prefix);
    }
  }
}

}  // namespace cogen::models
