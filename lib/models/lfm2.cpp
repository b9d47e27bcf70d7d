#include "load/field_ranges.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"

#include <algorithm>
#include <utility>

namespace cogen::models {

namespace {

/// GGUF files have the width itself. Others may have one that is cut to two thirds and rounded up.
std::int64_t inner_width(const load::config_fields& fields) {
  if (fields.origin() == load::config_fields::source::gguf)
    return fields.integer("feed_forward_length", load::inner_widths);
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
std::vector<bool> attending_layers(const load::config_fields& fields, const load::model_config& config) {
  if (!config.layer_types.empty()) return layers_of_type(fields, config, "full_attention", "conv");
  std::vector<bool> attends(static_cast<std::size_t>(config.layers), !fields.has("full_attn_idxs"));
  for (const auto layer : fields.integers("full_attn_idxs", {0, config.layers - 1}))
    attends[static_cast<std::size_t>(layer)] = true;
  return attends;
}

attention_spec attention_of(const load::model_config& config) {
  auto made = attention(config);
  made.qk_norm = qk_norm_spec{.q = "q_layernorm", .k = "k_layernorm", .epsilon = config.rms_norm_eps};
  made.output = "out_proj";
  made.qkv_bias = made.output_bias = false;
  return made;
}

}  // namespace

/// Liquid AI, arXiv:2511.23404: short convolutions in most layers, attention in the others.
model_spec lfm2(const load::config_fields& fields, const load::model_config& config) {
  const short_convolution_spec convolves{.channels = config.hidden,
                                         .taps = fields.integer("conv_L_cache", {2, 1 << 8}, 3),
                                         .bias = fields.boolean("conv_bias", false)};
  const block_spec attention{
      .what = attention_of(config), .prefix = "self_attn.", .before = rms_norm(config, "operator_norm")};
  const block_spec convolution{.what = convolves, .prefix = "conv.", .before = attention.before};
  const block_spec mlp{.what = mlp_spec{.intermediate = inner_width(fields), .gate = "w1", .up = "w3", .down = "w2"},
                       .prefix = "feed_forward.",
                       .before = rms_norm(config, "ffn_norm")};
  const auto attends = attending_layers(fields, config);
  auto ends = config;
  ends.tie_embeddings = fields.boolean("tie_embedding", config.tie_embeddings);
  auto spec = decoder(ends, rms_norm(config, "model.embedding_norm"));
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_blocks(spec, layer, {attends[static_cast<std::size_t>(layer)] ? attention : convolution, mlp});
  return spec;
}

}  // namespace cogen::models
