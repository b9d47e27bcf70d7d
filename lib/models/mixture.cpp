#include "models/mixture.hpp"

#include "models/like_llama.hpp"

#include <algorithm>
#include <array>

namespace cogen::models {

namespace {

constexpr load::integer_range expert_counts{1, 1 << 12};
constexpr load::integer_range widths{1, 1 << 20};

std::string_view experts_key(const load::config_fields& fields) {
  constexpr std::array names{"num_local_experts", "n_routed_experts"};
  const auto found = std::ranges::find_if(names, [&](auto name) { return fields.has(name); });
  return found == names.end() ? "num_experts" : *found;
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
  moe_spec made{.expert = gated_mlp(config, fields.integer("moe_intermediate_size", widths, width), ""),
                .experts = fields.integer(experts_key(fields), expert_counts, missing.experts)};
  made.top_k = fields.integer("num_experts_per_tok", {1, made.experts}, std::min(missing.top_k, made.experts));
  made.router.name = "gate";
  return made;
}

void put_experts(model_spec& spec, const moe_spec& experts, std::string_view prefix,
                 const std::function<bool(std::int64_t)>& has_experts) {
  std::int64_t layer = -1;
  for (auto& block : spec.blocks) {
    if (!std::holds_alternative<mlp_spec>(block.what)) {
      ++layer;
    } else if (has_experts(layer)) {
      block.what = experts;
      block.prefix = layer_prefix(layer).append(prefix);
    }
  }
}

}  // namespace cogen::models
