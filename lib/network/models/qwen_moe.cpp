#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"
#include "network/models/qwen3_5.hpp"

#include <algorithm>
#include <functional>
#include <variant>

namespace cogen::models {
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

/// The layer for multi-token prediction has experts, too.
void put_experts_in_mtp_layer(const moe_spec& experts, model_spec& spec) {
  if (spec.mtp) spec.mtp->blocks.back().part = experts;
}

/// Experts of which one is for all rows, times a sigmoid.
moe_spec with_shared_expert(const load::config_fields& fields, const load::model_config& config,
                            const mixture_defaults& missing, std::int64_t shared_width) {
  auto experts = mixture(fields, config, missing);
  const auto width = fields.integer("shared_expert_intermediate_size", {1, 1 << 20}, shared_width);
  experts.shared = {.mlp = gated_mlp(config, width, "shared_expert."), .gate = "shared_expert_gate"};
  return experts;
}

load::model_config with_windows(load::model_config config, const std::function<bool(std::int64_t)>& slides) {
  config.layer_types.clear();
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    config.layer_types.emplace_back(slides(layer) ? "sliding_attention" : "full_attention");
  return config;
}

/// Without layer_types, every other layer before max_window_layers has the window.
load::model_config with_qwen2_windows(const load::config_fields& fields, const load::model_config& config) {
  if (!config.layer_types.empty() || !config.sliding_window) return config;
  const bool any = fields.boolean("use_sliding_window", false);
  const auto end = fields.integer("max_window_layers", {0}, 28);
  return with_windows(config, [=](std::int64_t layer) { return any && layer % 2 == 0 && layer < end; });
}

/// All layers have the window, whatever layer_types and max_window_layers say.
load::model_config with_qwen3_windows(const load::config_fields& fields, const load::model_config& config) {
  const bool any = fields.boolean("use_sliding_window", false) && config.sliding_window;
  return with_windows(config, [=](std::int64_t) { return any; });
}

model_spec describe_qwen2_moe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = with_shared_expert(fields, config, {.experts = 60, .top_k = 4, .width = 1408}, 5632);
  experts.router.renormalized = fields.boolean("norm_topk_prob", false);
  auto spec = qwen2.describe(fields, with_qwen2_windows(fields, config));
  put_experts(fields, config, experts, spec);
  return spec;
}

model_spec describe_qwen3_moe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 128, .top_k = 8, .width = 768});
  experts.router.renormalized = fields.boolean("norm_topk_prob", fields.is_gguf());
  auto spec = qwen3.describe(fields, with_qwen3_windows(fields, config));
  put_experts(fields, config, experts, spec);
  return spec;
}

model_spec describe_qwen3_next(const load::config_fields& fields, const load::model_config& config) {
  auto experts = with_shared_expert(fields, config, {.experts = 512, .top_k = 10, .width = 512}, 512);
  experts.router.renormalized = fields.boolean("norm_topk_prob", true);
  auto spec = qwen3_5_text.describe(fields, config);
  for (auto& block : spec.blocks)
    if (auto* net = std::get_if<delta_net_spec>(&block.part)) net->grouped_qkvz = net->grouped_ba = true;
  put_experts(fields, config, experts, spec);
  put_experts_in_mtp_layer(experts, spec);
  return spec;
}

model_spec describe_qwen3_5_moe_text(const load::config_fields& fields, const load::model_config& config) {
  auto experts = with_shared_expert(fields, config, {.experts = 256, .top_k = 8, .width = 512}, 512);
  experts.router.renormalized = true;
  auto spec = qwen3_5_text.describe(fields, config);
  put_experts(spec, experts);
  put_experts_in_mtp_layer(experts, spec);
  return spec;
}

}  // namespace

/// Yang et al., arXiv:2407.10671: Qwen 2 with experts, of which one is for all rows.
const family qwen2_moe{
    .title = "Qwen 1.5 and 2 with experts",
    .fields = {.family = "qwen2_moe",
               .sizes = {.vocabulary = 151936, .hidden = 2048, .layers = 24, .heads = 16, .intermediate = 5632},
               .gguf = {.architecture = "qwen2moe"},
               .kv_heads = 16,
               .max_positions = 32768,
               .sliding_window = 4096},
    .describe = describe_qwen2_moe};

/// Yang et al., arXiv:2505.09388: Qwen 3 with experts. GGUF files do not say that shares are renormalized.
const family qwen3_moe{
    .title = "Qwen 3 with experts",
    .fields = {.family = "qwen3_moe",
               .sizes = {.vocabulary = 151936, .hidden = 2048, .layers = 24, .heads = 32, .intermediate = 6144},
               .gguf = {.architecture = "qwen3moe"},
               .kv_heads = 4,
               .max_positions = 32768,
               .sliding_window = 4096},
    .describe = describe_qwen3_moe};

/// Qwen Team: Qwen 3.5's mixers, with experts in most layers.
const family qwen3_next{.title = "Qwen 3-Next",
                        .fields = qwen3_5_fields(
                            "qwen3_next", "qwen3next",
                            {.vocabulary = 151936, .hidden = 2048, .layers = 48, .heads = 16, .intermediate = 5632}, 2),
                        .describe = describe_qwen3_next};

/// The same mixers, with experts in all layers.
const family qwen3_5_moe_text{
    .title = "Qwen 3.5 with experts (text)",
    .fields = qwen3_5_fields("qwen3_5_moe_text", "qwen35moe", qwen3_5_moe_sizes, 2, qwen3_5_moe_keys),
    .describe = describe_qwen3_5_moe_text};

const family qwen3_5_moe{.title = "Qwen 3.5 with experts",
                         .fields = qwen3_5_fields("qwen3_5_moe", "", qwen3_5_moe_sizes, 2, qwen3_5_moe_keys),
                         .describe = describe_beside_encoders<qwen3_5_moe_text, qwen3_5_encoders>};

}  // namespace cogen::models
