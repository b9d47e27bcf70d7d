#include "load/field_ranges.hpp"
#include "load/mamba_fields.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"
#include "models/mamba_mixer.hpp"
#include "models/mixture.hpp"

#include <utility>

namespace cogen::models {

namespace {

constexpr load::real_range multipliers{1e-9, 1e9};

double multiplier(const load::config_fields& fields, std::string_view key) { return fields.real(key, multipliers, 1); }

attention_spec scaled_attention(const load::config_fields& fields, const load::model_config& config) {
  auto made = attention(config);
  made.scale = multiplier(fields, "attention_multiplier");
  return made;
}

void scale(const load::config_fields& fields, model_spec& spec) {
  spec.embedding.scale = multiplier(fields, "embedding_multiplier");
  spec.head.scale = 1 / multiplier(fields, "logits_scaling");
  const auto residual = static_cast<float>(multiplier(fields, "residual_multiplier"));
  for (auto& block : spec.blocks) block.residual_scale = residual;
}

bool is_gguf(const load::config_fields& fields) { return fields.origin() == load::config_fields::source::gguf; }

bool rotates(const load::config_fields& fields) {
  return is_gguf(fields) ? fields.boolean("rope.scaling.finetuned", true)
                         : fields.is("position_embedding_type", "rope");
}

/// For each layer whether it attends. The types have two spellings; without any, none does.
std::vector<bool> attending_layers(const load::config_fields& fields, const load::model_config& config) {
  if (config.layer_types.empty()) return std::vector<bool>(static_cast<std::size_t>(config.layers));
  const auto& first = config.layer_types.front();
  if (first == "mamba" || first == "attention") return layers_of_type(fields, config, "attention", "mamba");
  return layers_of_type(fields, config, "full_attention", "linear_attention");
}

}  // namespace

/// Granite Team, IBM: Llama with four multipliers. Logits are divided by theirs.
model_spec granite(const load::config_fields& fields, const load::model_config& config) {
  auto spec = like_llama(config, [&](std::int64_t) { return scaled_attention(fields, config); });
  scale(fields, spec);
  return spec;
}

/// Granite Team, IBM: Mamba-2 in most layers, attention in the others, and Granite's multipliers.
model_spec granitemoehybrid(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Granite's is silu");
  if (fields.integer("num_local_experts", {0}, is_gguf(fields) ? 0 : 8) != 0)
    fields.refuse("num_local_experts", "a hybrid Granite without experts is read, which says 0");
  auto attends_by = scaled_attention(fields, config);
  if (!rotates(fields)) attends_by.rope.reset();
  const block_spec attention{
      .what = std::move(attends_by), .prefix = "self_attn.", .before = rms_norm(config, "input_layernorm")};
  const block_spec mixer{.what = mamba2_mixer(fields, load::read_granite_mamba2_fields(fields, config), config),
                         .prefix = "mamba.",
                         .before = attention.before};
  const block_spec mlp{
      .what = mlp_spec{.intermediate = fields.integer("shared_intermediate_size", load::inner_widths, 1024),
                       .gate = "input_linear",
                       .up = "input_linear",
                       .down = "output_linear"},
      .prefix = "shared_mlp.",
      .before = rms_norm(config, "post_attention_layernorm")};
  const auto attends = attending_layers(fields, config);
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_blocks(spec, layer, {attends[static_cast<std::size_t>(layer)] ? attention : mixer, mlp});
  scale(fields, spec);
  return spec;
}

/// Granite 3's experts: one tensor holds all of a layer, gate and up in one.
model_spec granitemoe(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 8, .top_k = 2});
  experts.expert.gate = experts.expert.up = "input_linear";
  experts.expert.down = "output_linear";
  experts.stacked = true;
  experts.router.name = "router.layer";
  experts.router.renormalized = true;
  auto spec = granite(fields, config);
  put_experts(spec, experts, "block_sparse_moe.");
  return spec;
}

}  // namespace cogen::models
