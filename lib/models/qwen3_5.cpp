#include "load/field_ranges.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"

#include <fmt/format.h>

#include <utility>

namespace cogen::models {

namespace {

constexpr float norm_offset = 1;
constexpr load::integer_range head_widths{1, 1 << 13};

/// For each layer whether it attends: by "layer_types", or every fourth.
std::vector<bool> attending_layers(const load::config_fields& fields, const load::model_config& config) {
  if (!config.layer_types.empty()) return layers_of_type(fields, config, "full_attention", "linear_attention");
  const auto interval = fields.integer("full_attention_interval", load::layer_counts, 4);
  std::vector<bool> attends;
  for (std::int64_t layer = 1; layer <= config.layers; ++layer) attends.push_back(layer % interval == 0);
  return attends;
}

delta_net_spec delta_net(const load::config_fields& fields, const load::model_config& config) {
  const delta_net_spec net{.heads = fields.integer("linear_num_value_heads", load::head_counts, 32),
                           .key_heads = fields.integer("linear_num_key_heads", load::head_counts, 16),
                           .key_width = fields.integer("linear_key_head_dim", head_widths, 128),
                           .value_width = fields.integer("linear_value_head_dim", head_widths, 128),
                           .taps = fields.integer("linear_conv_kernel_dim", {2, 1 << 8}, 4),
                           .norm_epsilon = config.rms_norm_eps};
  if (net.heads % net.key_heads != 0)
    fields.refuse("linear_num_value_heads",
                  fmt::format("it must be a multiple of linear_num_key_heads = {}", net.key_heads));
  return net;
}

attention_spec gated_attention(const load::model_config& config) {
  auto made = attention(config);
  made.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps, .weight_offset = norm_offset};
  made.output_gate = true;
  return made;
}

norm_spec zero_centered(const load::model_config& config, std::string name) {
  auto made = rms_norm(config, std::move(name));
  made.weight_offset = norm_offset;
  return made;
}

}  // namespace

/// Qwen Team: gated delta nets in most layers, attention with gated outputs in the others. Weights of all norms but the
/// delta nets' count from 1.
model_spec qwen3_5_text(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Qwen 3.5's is silu");
  const block_spec attention{
      .what = gated_attention(config), .prefix = "self_attn.", .before = zero_centered(config, "input_layernorm")};
  const block_spec net{.what = delta_net(fields, config), .prefix = "linear_attn.", .before = attention.before};
  const block_spec mlp{
      .what = gated_mlp(config), .prefix = "mlp.", .before = zero_centered(config, "post_attention_layernorm")};
  const auto attends = attending_layers(fields, config);
  auto spec = decoder(config, zero_centered(config, "model.norm"));
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_blocks(spec, layer, {attends[static_cast<std::size_t>(layer)] ? attention : net, mlp});
  spec.unread = {"mtp.*"};
  return spec;
}

/// As its checkpoints are published, with an encoder of images, which is not read.
model_spec qwen3_5(const load::config_fields& fields, const load::model_config& config) {
  auto spec = qwen3_5_text(fields, config);
  put_under("model.language_model.", spec);
  spec.unread.emplace_back("model.visual.*");
  return spec;
}

}  // namespace cogen::models
