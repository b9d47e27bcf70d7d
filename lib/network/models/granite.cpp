#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"
#include "network/models/mixture.hpp"

#include <utility>

namespace cogen::models {
namespace {

double granite_multiplier(const load::config_fields& fields, std::string_view key) {
  return fields.real(key, load::multipliers, 1);
}

/// GGUF files of Bamba are a Granite's without multipliers.
attention_spec granite_attention(const load::config_fields& fields, const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.scale = fields.real("attention_multiplier", load::multipliers, fields.is_gguf() ? self_attn.scale : 1);
  return self_attn;
}

/// One tensor holds all of a layer, gate and up in one.
moe_spec stacked_experts(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 8, .top_k = 2});
  experts.expert.gate = experts.expert.up = "block_sparse_moe.input_linear";
  experts.expert.down = "block_sparse_moe.output_linear";
  experts.stacked = true;
  experts.router.name = "block_sparse_moe.router.layer";
  experts.router.renormalized = true;
  return experts;
}

void scale(const load::config_fields& fields, model_spec& spec) {
  spec.embedding.scale = granite_multiplier(fields, "embedding_multiplier");
  spec.head.scale = 1 / granite_multiplier(fields, "logits_scaling");
  const auto residual = static_cast<float>(granite_multiplier(fields, "residual_multiplier"));
  for (auto& block : spec.blocks) block.residual_scale = residual;
}

bool rotates(const load::config_fields& fields) {
  return fields.is_gguf() ? fields.boolean("rope.scaling.finetuned", true)
                          : fields.is("position_embedding_type", "rope");
}

/// For each layer whether it attends; without types, none does.
std::vector<bool> attending_layers(const load::config_fields& fields, const load::model_config& config) {
  if (config.layer_types.empty()) return std::vector<bool>(static_cast<std::size_t>(config.layers));
  return layers_of_type(fields, config, "full_attention", "linear_attention");
}

model_spec describe_granite(const load::config_fields& fields, const load::model_config& config) {
  auto spec = like_llama(config, [&](std::int64_t) { return granite_attention(fields, config); });
  scale(fields, spec);
  return spec;
}

model_spec describe_granitemoehybrid(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Granite's is silu");
  const mlp_spec shared{.intermediate = fields.integer("shared_intermediate_size", load::inner_widths, 1024),
                        .gate = "shared_mlp.input_linear",
                        .up = "shared_mlp.input_linear",
                        .down = "shared_mlp.output_linear"};
  auto attends = granite_attention(fields, config);
  if (!rotates(fields)) attends.rope.reset();
  auto spec = decoder(config);
  add_layers(spec, config,
             {.attends = attending_layers(fields, config),
              .attention = std::move(attends),
              .other = mamba2_mixer(fields, read_granite_mamba2_fields(fields, config), config),
              .other_prefix = "mamba.",
              .mlp = shared,
              .mlp_prefix = ""});
  if (fields.integer("num_local_experts", {0}, fields.is_gguf() ? 0 : 8) > 0) {
    auto experts = stacked_experts(fields, config);
    experts.shared = {.mlp = shared};
    put_experts(spec, experts, "");
  }
  scale(fields, spec);
  return spec;
}

model_spec describe_granitemoe(const load::config_fields& fields, const load::model_config& config) {
  auto spec = granite.describe(fields, config);
  put_experts(spec, stacked_experts(fields, config), "");
  return spec;
}

}  // namespace

/// Granite Team, IBM: Llama with four multipliers. Logits are divided by theirs.
const family granite{
    .title = "Granite 3",
    .fields = {.family = "granite",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.interleaved = true},
               .keys = no_window_keys,
               .mlp_bias = false},
    .describe = describe_granite};

/// Granite Team, IBM: Mamba-2 in most layers, attention in the others, and Granite's multipliers. A feed-forward for
/// all rows stands beside experts or alone.
const family granitemoehybrid{
    .title = "Granite 4 hybrid",
    .fields = {.family = "granitemoehybrid",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.architecture = "granitehybrid", .interleaved = true},
               .keys = no_window_keys},
    .describe = describe_granitemoehybrid};

/// Granite 3 with experts.
const family granitemoe{
    .title = "Granite 3 with experts",
    .fields = {.family = "granitemoe",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.interleaved = true},
               .keys = no_window_keys},
    .describe = describe_granitemoe};

}  // namespace cogen::models
