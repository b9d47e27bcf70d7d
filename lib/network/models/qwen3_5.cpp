#include "network/models/qwen3_5.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace cogen::models {
namespace {

constexpr float weight_offset = 1;

/// For each layer whether it attends: by "layer_types", or every fourth.
std::vector<bool> qwen_attending_layers(const load::config_fields& fields, const load::model_config& config) {
  if (!config.layer_types.empty()) return layers_of_type(fields, config, "full_attention", "linear_attention");
  const auto interval = fields.integer("full_attention_interval", load::layer_counts, 4);
  std::vector<bool> attends;
  for (std::int64_t layer = 1; layer <= config.layers; ++layer) attends.push_back(layer % interval == 0);
  return attends;
}

delta_net_spec delta_net(const load::config_fields& fields, const load::model_config& config) {
  const delta_net_spec net{.heads = fields.integer("linear_num_value_heads", load::head_counts, 32),
                           .key_heads = fields.integer("linear_num_key_heads", load::head_counts, 16),
                           .key_width = fields.integer("linear_key_head_dim", load::head_dims, 128),
                           .value_width = fields.integer("linear_value_head_dim", load::head_dims, 128),
                           .taps = fields.integer("linear_conv_kernel_dim", {2, 1 << 8}, 4),
                           .norm_epsilon = config.rms_norm_eps};
  if (net.heads % net.key_heads != 0)
    fields.refuse("linear_num_value_heads",
                  fmt::format("it must be a multiple of linear_num_key_heads = {}", net.key_heads));
  return net;
}

attention_spec gated_attention(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps, .weight_offset = weight_offset};
  self_attn.output_gate = true;
  return self_attn;
}

norm_spec zero_centered(const load::model_config& config, std::string name) {
  auto norm = rms_norm(config, std::move(name));
  norm.weight_offset = weight_offset;
  return norm;
}

/// A layer that attends, for multi-token prediction. Qwen 3-Next's configurations do not say that it is there.
std::optional<mtp_spec> mtp_layer(const load::config_fields& fields, const load::model_config& config) {
  const bool gguf = fields.is_gguf();
  if (fields.integer(gguf ? "nextn_predict_layers" : "mtp_num_hidden_layers", {0, 1 << 8}, gguf ? 0 : 1) == 0)
    return std::nullopt;
  const auto norm = [&](const char* name) { return zero_centered(config, fmt::format("mtp.{}", name)); };
  return mtp_spec{.embedding_norm = norm("pre_fc_norm_embedding"),
                  .hidden_norm = norm("pre_fc_norm_hidden"),
                  .projection = "mtp.fc",
                  .blocks = {{.part = gated_attention(config),
                              .prefix = "mtp.layers.0.self_attn.",
                              .pre_norm = norm("layers.0.input_layernorm")},
                             {.part = gated_mlp(config),
                              .prefix = "mtp.layers.0.mlp.",
                              .pre_norm = norm("layers.0.post_attention_layernorm")}},
                  .final_norm = norm("norm")};
}

model_spec describe_qwen3_5_text(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Qwen 3.5's is silu");
  auto spec = decoder(config, zero_centered(config, "model.norm"));
  add_layers(spec, config,
             {.attends = qwen_attending_layers(fields, config),
              .attention = gated_attention(config),
              .other = delta_net(fields, config),
              .other_prefix = "linear_attn.",
              .mlp = gated_mlp(config),
              .weight_offset = weight_offset});
  spec.mtp = mtp_layer(fields, config);
  spec.unread = {"mtp.*"};
  return spec;
}

}  // namespace

/// Qwen Team: gated delta nets in most layers, attention with gated outputs in the others. Weights of all norms but the
/// delta nets' count from 1.
const family qwen3_5_text{.title = "Qwen 3.5 dense (text)",
                          .fields = qwen3_5_fields("qwen3_5_text", "qwen35", qwen3_5_sizes, 4),
                          .describe = describe_qwen3_5_text};

const family qwen3_5{.title = "Qwen 3.5 dense",
                     .fields = qwen3_5_fields("qwen3_5", "", qwen3_5_sizes, 4),
                     .describe = describe_beside_encoders<qwen3_5_text, qwen3_5_encoders>};

}  // namespace cogen::models
