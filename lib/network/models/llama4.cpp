#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cogen::models {
namespace {

constexpr load::family_fields fields_of(std::string_view name, std::string_view architecture) {
  return {.family = name,
          .sizes = {.vocabulary = 202048, .hidden = 5120, .layers = 48, .heads = 40, .intermediate = 8192},
          .tokens = {.bos = 1, .eos = 2},
          .gguf = {.architecture = architecture},
          .keys = no_window_keys,
          .kv_heads = 8,
          .head_dim = 128,
          .max_positions = 131072,
          .rms_norm_eps = 1e-5,
          .rope_theta = 500000};
}

/// Experts are scaled by what they read, one for all rows beside them.
moe_spec llama4_experts(const load::config_fields& fields, const load::model_config& config) {
  auto moe = mixture(fields, config, {.experts = 16, .top_k = 1});
  moe.shared = {.mlp = gated_mlp(config, moe.expert.intermediate, "shared_expert.")};
  moe.router = {.name = "router", .scores = router_spec::scoring::sigmoid, .scales_input = true};
  moe.expert.gate = moe.expert.up = "experts.gate_up_proj";
  moe.expert.down = "experts.down_proj";
  moe.expert.transposed = moe.stacked = true;
  return moe;
}

/// Rotated queries and keys are normed. llama.cpp knows the model that leaves this out by its 128 experts.
attention_spec rotated_attention(const load::config_fields& fields, const load::model_config& config,
                                 std::int64_t experts) {
  auto self_attn = attention(config);
  self_attn.rope->interleaved = true;
  if (fields.is_gguf() ? experts != 128 : fields.boolean("use_qk_norm", true))
    self_attn.qk_norm = qk_norm_spec{.q = "", .k = "", .epsilon = config.rms_norm_eps, .after_rope = true};
  return self_attn;
}

/// Queries that are not rotated grow with their position.
attention_spec plain_attention(const load::config_fields& fields, const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.rope.reset();
  if (fields.boolean("attn_temperature_tuning", true))
    self_attn.query_growth = query_growth_spec{.beta = fields.real("attn_scale", {0, 1e6}, 0.1),
                                               .length = fields.integer("floor_scale", load::position_counts, 8192),
                                               .offset = 1};
  return self_attn;
}

/// By a list, or every so many.
std::vector<bool> layers_with_experts(const load::config_fields& fields, const load::model_config& config) {
  constexpr std::string_view key = "moe_layers";
  const auto listed = fields.integers(key, {0, config.layers - 1});
  const auto step = fields.integer("interleave_moe_layer_step", load::layer_counts, 1);
  std::vector<bool> found;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    found.push_back(!fields.has(key) ? (layer + 1) % step == 0 : std::ranges::find(listed, layer) != listed.end());
  return found;
}

model_spec describe_llama4_text(const load::config_fields& fields, const load::model_config& config) {
  const auto rotates = rotating_layers(fields, config);
  const auto in_chunks =
      config.layer_types.empty() ? rotates : layers_of_type(fields, config, "chunked_attention", "full_attention");
  const auto has_experts = layers_with_experts(fields, config);
  const auto chunk = fields.integer("attention_chunk_size", load::position_counts, 8192);
  const auto experts = llama4_experts(fields, config);
  const auto rotated = rotated_attention(fields, config, experts.experts), plain = plain_attention(fields, config);
  auto dense = gated_mlp(config);
  dense.intermediate = fields.integer("intermediate_size_mlp", load::inner_widths, 16384);
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    auto attends = rotates[index] ? rotated : plain;
    if (in_chunks[index]) attends.kv = chunked(config, chunk);
    add_layer(spec, config, layer, std::move(attends), dense);
    auto& feeds = spec.blocks.back();
    feeds.prefix = layer_prefix(layer) + "feed_forward.";
    if (has_experts[index]) feeds.part = experts;
  }
  return spec;
}

model_spec describe_llama4(const load::config_fields& fields, const load::model_config& config) {
  static constexpr std::array<std::string_view, 2> encoders{"vision_model.*", "multi_modal_projector.*"};
  auto spec = beside_encoders(llama4_text.describe(fields, config), "language_model.model.", encoders);
  for (auto* names : {&spec.embedding.names, &spec.head.names})
    std::ranges::replace(*names, std::string("lm_head"), std::string("language_model.lm_head"));
  return spec;
}

}  // namespace

/// Meta, 2025: chunks and rotations in most layers, all tokens and none in the others, and experts.
const family llama4_text{
    .title = "Llama 4 (text)", .fields = fields_of("llama4_text", "llama4"), .describe = describe_llama4_text};

/// As checkpoints are published, with an encoder of images, which is not read.
const family llama4{.title = "Llama 4", .fields = fields_of("llama4", ""), .describe = describe_llama4};

}  // namespace cogen::models
