#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

namespace cogen::models {
namespace {

model_spec describe_dots1(const load::config_fields& fields, const load::model_config& config) {
  auto experts = sigmoid_mixture(fields, config, {.experts = 128, .top_k = 6, .width = 1408});
  experts.router.renormalized = fields.boolean("norm_topk_prob", false);
  const auto first_window = fields.integer("max_window_layers", {0}, 62);
  const auto windows = sliding_layers(
      fields, config, [&](std::int64_t layer) { return config.sliding_window && layer >= first_window; });
  auto spec = like_llama(config, [&](std::int64_t layer) {
    auto self_attn = attention(config);
    self_attn.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps};
    if (windows[static_cast<std::size_t>(layer)]) self_attn.kv = sliding(config, *config.sliding_window);
    return self_attn;
  });
  const auto dense = fields.integer("first_k_dense_replace", {0, load::layer_counts.highest}, 0);
  put_experts(spec, experts, "mlp.", [&](std::int64_t layer) { return layer >= dense; });
  return spec;
}

}  // namespace

/// dots.llm1 (Huo et al., arXiv:2506.05767): Qwen 3's attention, a window from some layer on, and DeepSeek-V3's experts
/// in all but the first layers.
const family dots1{
    .title = "dots.llm1",
    .fields = {.family = "dots1",
               .sizes = {.vocabulary = 152064, .hidden = 4608, .layers = 62, .heads = 32, .intermediate = 10944},
               .kv_heads = 32,
               .sliding_window = 4096},
    .describe = describe_dots1};

}  // namespace cogen::models
