#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

#include <algorithm>

namespace cogen::models {
namespace {

/// GGUF files have the width itself. Others may have one that is cut to two thirds and rounded up.
std::int64_t inner_width(const load::config_fields& fields) {
  if (fields.is_gguf()) return fields.integer("feed_forward_length", load::inner_widths);
  const auto* key = fields.has("block_ff_dim") ? "block_ff_dim" : "intermediate_size";
  auto width = fields.integer(key, {3, load::inner_widths.highest}, 12288);
  if (!fields.boolean("block_auto_adjust_ff_dim", true)) return width;
  width = 2 * width / 3;
  if (fields.is_null("block_ffn_dim_multiplier")) return width;
  const auto factor = fields.real("block_ffn_dim_multiplier", {1e-3, 1e3}, 1);
  const auto multiple = fields.integer("block_multiple_of", load::inner_widths, 256);
  width = std::max<std::int64_t>(1, static_cast<std::int64_t>(factor * static_cast<double>(width)));
  return (width + multiple - 1) / multiple * multiple;
}

/// For each layer whether it attends: by "layer_types", by "full_attn_idxs", or all of them.
std::vector<bool> full_attention_layers(const load::config_fields& fields, const load::model_config& config) {
  if (!config.layer_types.empty()) return layers_of_type(fields, config, "full_attention", "conv");
  std::vector<bool> attends(static_cast<std::size_t>(config.layers), !fields.has("full_attn_idxs"));
  for (const auto layer : fields.integers("full_attn_idxs", {0, config.layers - 1}))
    attends[static_cast<std::size_t>(layer)] = true;
  return attends;
}

attention_spec lfm2_attention(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.qk_norm = qk_norm_spec{.q = "q_layernorm", .k = "k_layernorm", .epsilon = config.rms_norm_eps};
  self_attn.output = "out_proj";
  self_attn.qkv_bias = self_attn.output_bias = false;
  return self_attn;
}

void name_weights(mlp_spec& mlp) {
  mlp.gate = "w1";
  mlp.up = "w3";
  mlp.down = "w2";
}

model_spec with_inner_width(std::int64_t width, const load::config_fields& fields, const load::model_config& config) {
  const short_convolution_spec convolves{.channels = config.hidden,
                                         .taps = fields.integer("conv_L_cache", {2, 1 << 8}, 3),
                                         .bias = fields.boolean("conv_bias", false)};
  mlp_spec feeds{.intermediate = width};
  name_weights(feeds);
  auto ends = config;
  ends.tie_embeddings = fields.boolean("tie_embedding", config.tie_embeddings);
  auto spec = decoder(ends, rms_norm(config, "model.embedding_norm"));
  add_layers(spec, config,
             {.attends = full_attention_layers(fields, config),
              .attention = lfm2_attention(config),
              .other = convolves,
              .other_prefix = "conv.",
              .mlp = feeds,
              .mlp_prefix = "feed_forward.",
              .before_mixer = "operator_norm",
              .before_mlp = "ffn_norm"});
  return spec;
}

model_spec describe_lfm2(const load::config_fields& fields, const load::model_config& config) {
  return with_inner_width(inner_width(fields), fields, config);
}

model_spec describe_lfm2_moe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 32, .top_k = 4, .width = 1792});
  name_weights(experts.expert);
  auto& router = experts.router;
  router.scores = router_spec::scoring::sigmoid;
  if (fields.boolean("use_expert_bias", true)) router.choice_bias = "expert_bias";
  router.renormalized = fields.boolean("norm_topk_prob", true);
  router.added_to_sum = 1e-6;
  router.scale = fields.real("routed_scaling_factor", load::multipliers, 1);
  auto spec = with_inner_width(config.intermediate, fields, config);
  const auto dense = fields.integer("num_dense_layers", {0, load::layer_counts.highest}, 2);
  put_experts(spec, experts, "feed_forward.", [&](std::int64_t layer) { return layer >= dense; });
  return spec;
}

}  // namespace

/// Liquid AI, arXiv:2511.23404: short convolutions in most layers, attention in the others.
const family lfm2{.title = "LFM 2",
                  .fields = {.family = "lfm2",
                             .sizes = {.vocabulary = 65536, .hidden = 2560, .layers = 32, .heads = 32},
                             .tokens = {.bos = 1, .pad = 0, .eos = 2},
                             .keys = {.intermediate = "", .rms_norm_eps = "norm_eps", .sliding_window = ""},
                             .kv_heads = 8,
                             .max_positions = 128000,
                             .rms_norm_eps = 1e-5,
                             .rope_theta = 1e6,
                             .tie_embeddings = true},
                  .describe = describe_lfm2};

/// The same with experts in all but the first layers.
const family lfm2_moe{
    .title = "LFM 2 with experts",
    .fields = {.family = "lfm2_moe",
               .sizes = {.vocabulary = 65536, .hidden = 2048, .layers = 32, .heads = 32, .intermediate = 7168},
               .tokens = {.bos = 1, .pad = 0, .eos = 2},
               .gguf = {.architecture = "lfm2moe"},
               .keys = no_window_norm_eps_keys,
               .kv_heads = 8,
               .max_positions = 128000,
               .rms_norm_eps = 1e-5,
               .rope_theta = 1e6,
               .tie_embeddings = true},
    .describe = describe_lfm2_moe};

}  // namespace cogen::models
