#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

#include <algorithm>

namespace cogen::models {
namespace {

/// Two, whatever the file says.
moe_spec phimoe_experts(const load::config_fields& fields, const load::model_config& config) {
  auto moe = mixture(fields, config, {.experts = 16, .top_k = 2});
  moe.top_k = std::min<std::int64_t>(2, moe.experts);
  moe.router.scores = router_spec::scoring::sparsemixer;
  moe.router.jitter = fields.real("router_jitter_noise", {0, 1e6}, 0.01);
  moe.expert.gate = "w1";
  moe.expert.up = "w3";
  moe.expert.down = "w2";
  return moe;
}

model_spec describe_phimoe(const load::config_fields& fields, const load::model_config& config) {
  auto spec = like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    if (config.sliding_window) self_attn.kv = sliding(config, *config.sliding_window);
    return self_attn;
  });
  for (auto& block : spec.blocks) block.pre_norm = layer_norm(config, block.pre_norm->name);
  spec.final_norm = layer_norm(config, spec.final_norm->name);
  if (fields.boolean("lm_head_bias", fields.is_gguf())) spec.head.bias = "lm_head.bias";
  put_experts(spec, phimoe_experts(fields, config), "block_sparse_moe.");
  return spec;
}

}  // namespace

/// Abdin et al., arXiv:2404.14219: Phi-3.5 with experts, layer norms, and biases outside of the experts.
const family phimoe{
    .title = "Phi-3.5 with experts",
    .fields = {.family = "phimoe",
               .sizes = {.vocabulary = 32064, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 6400},
               .tokens = {.bos = 1, .eos = 2},
               .kv_heads = 8,
               .max_positions = 131072,
               .rms_norm_eps = 1e-5,
               .rope_theta = 1e6},
    .describe = describe_phimoe};

}  // namespace cogen::models
