#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

namespace cogen::models {
namespace {

moe_spec minimax_experts(const load::config_fields& fields, const load::model_config& config) {
  auto moe = mixture(fields, config, {.experts = 256, .top_k = 8});
  moe.expert.gate = "w1";
  moe.expert.up = "w3";
  moe.expert.down = "w2";
  moe.router.scores = router_spec::scoring::sigmoid;
  moe.router.choice_bias = "e_score_correction_bias";
  moe.router.renormalized = true;
  return moe;
}

/// Files say how many numbers of a head are rotated, or which share.
rope_spec partial_rotation(const load::config_fields& fields, const load::model_config& config) {
  rope_spec rope{config.rope};
  rope.config.rotary_dim = fields.integer("rotary_dim", {2, config.head_dim}, config.rope.rotary_dim);
  if (rope.config.rotary_dim % 2 != 0) fields.refuse("rotary_dim", "it must be even");
  return rope;
}

model_spec describe_minimax_m2(const load::config_fields& fields, const load::model_config& config) {
  auto spec = like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    self_attn.qkv_bias = self_attn.output_bias = false;
    self_attn.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps, .over = qk_norm_spec::scope::width};
    self_attn.rope = partial_rotation(fields, config);
    return self_attn;
  });
  put_experts(spec, minimax_experts(fields, config), "block_sparse_moe.");
  return spec;
}

}  // namespace

/// MiniMax: Llama with norms of queries and keys over all heads together, which rotates part of each head, and experts
/// that sigmoids and a bias choose.
const family minimax_m2{
    .title = "MiniMax M2",
    .fields = {.family = "minimax_m2",
               .sizes = {.vocabulary = 200064, .hidden = 3072, .layers = 62, .heads = 48, .intermediate = 1536},
               .tokens = {.bos = 200034, .eos = 200020},
               .gguf = {.architecture = "minimax-m2"},
               .keys = no_window_keys,
               .kv_heads = 8,
               .head_dim = 128,
               .max_positions = 196608,
               .rope_theta = 5e6,
               .partial_rotary = 1},
    .describe = describe_minimax_m2};

}  // namespace cogen::models
