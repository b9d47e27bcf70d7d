#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"
#include "network/models/mixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace cogen::models {
namespace {

/// What a layer is: its letter in "hybrid_override_pattern", its names in "layers_block_type".
struct layer_kind {
  char letter;
  std::string_view name, older_name;
};
constexpr std::array kinds{
    layer_kind{'M', "linear_attention", "mamba"},
    layer_kind{'*', "full_attention", "attention"},
    layer_kind{'-', "mlp", "mlp"},
    layer_kind{'E', "moe", "moe"},
};

/// A letter for each layer.
std::string pattern_of(const load::config_fields& fields, const load::model_config& config) {
  const auto* key = fields.has("layers_block_type") ? "layers_block_type" : "hybrid_override_pattern";
  std::string pattern = fields.has("layers_block_type") ? "" : fields.string(key, "ME*-");
  for (const auto& type : fields.strings("layers_block_type")) {
    const auto* const found = std::ranges::find_if(
        kinds, [&](const layer_kind& kind) { return kind.name == type || kind.older_name == type; });
    if (found == kinds.end()) fields.refuse(key, "'linear_attention', 'full_attention', 'mlp' and 'moe' are known");
    pattern += found->letter;
  }
  if (pattern.find_first_not_of("M*-E") != std::string::npos) fields.refuse(key, "'M', '*', '-' and 'E' are known");
  if (static_cast<std::int64_t>(pattern.size()) != config.layers)
    fields.refuse(key, fmt::format("it must name {} layers", config.layers));
  return pattern;
}

attention_spec nemotron_attention(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.rope.reset();
  self_attn.qkv_bias = self_attn.output_bias = false;
  return self_attn;
}

mlp_spec without_gate(const load::model_config& config, std::int64_t width, const std::string& prefix) {
  auto mlp = plain_mlp(config, prefix + "up_proj", prefix + "down_proj");
  mlp.intermediate = width;
  return mlp;
}

/// GGUF files have a width for each layer.
mlp_spec feed_forward(const load::config_fields& fields, const load::model_config& config) {
  const auto widths = fields.integers("intermediate_size", {0, load::inner_widths.highest});
  return without_gate(config, widths.empty() ? 21504 : std::ranges::max(widths), "");
}

moe_spec experts_of(const load::config_fields& fields, const load::model_config& config) {
  auto moe = sigmoid_mixture(fields, config, {.experts = 8, .top_k = 2, .width = 7688});
  moe.router.renormalized = fields.boolean("norm_topk_prob", true);
  moe.expert = without_gate(config, moe.expert.intermediate, "");
  moe.expert.bias = false;
  if (fields.has("moe_latent_size"))
    moe.latent = latent_experts_spec{.width = fields.integer("moe_latent_size", load::inner_widths),
                                     .down = "fc1_latent_proj",
                                     .up = "fc2_latent_proj",
                                     .bias = config.mlp_bias};
  const auto shared = fields.integer("moe_shared_expert_intermediate_size", load::inner_widths, 7688);
  moe.shared = {.mlp = without_gate(config, shared, "shared_experts.")};
  return moe;
}

model_spec describe_nemotron_h(const load::config_fields& fields, const load::model_config& config) {
  constexpr std::string_view mixer_activation = "mamba_hidden_act";
  if (fields.has(mixer_activation) && !fields.is(mixer_activation, "silu"))
    fields.refuse(mixer_activation, "a Nemotron-H's is silu");
  const auto mixes = mamba2_mixer(fields, read_nemotron_mamba2_fields(fields, config), config);
  auto spec = decoder(config, rms_norm(config, "backbone.norm_f"), {.base = "backbone.", .embedding = "embeddings"});
  std::int64_t layer = 0;
  for (const char kind : pattern_of(fields, config)) {
    const auto prefix = fmt::format("backbone.layers.{}.", layer++);
    block_spec block{.part = mixes, .prefix = prefix + "mixer.", .pre_norm = rms_norm(config, prefix + "norm")};
    if (kind == '*') block.part = nemotron_attention(config);
    if (kind == '-') block.part = feed_forward(fields, config);
    if (kind == 'E') block.part = experts_of(fields, config);
    spec.blocks.push_back(std::move(block));
  }
  spec.unread = {"mtp.*"};
  return spec;
}

}  // namespace

/// NVIDIA, arXiv:2504.03624: layers of one part each, which is a Mamba-2 mixer, attention without positions, a
/// feed-forward or experts. Time steps of prompts are not raised to "time_step_min", as those of later tokens are not.
const family nemotron_h{.title = "Nemotron-H, Nemotron 3",
                        .fields = {.family = "nemotron_h",
                                   .sizes = {.vocabulary = 131072, .hidden = 4096, .layers = 4, .heads = 32},
                                   .tokens = {.bos = 1, .pad = 0, .eos = 2},
                                   .gguf = {.architecture = "nemotron_h", .also = "nemotron_h_moe"},
                                   .keys = {.intermediate = "",
                                            .rms_norm_eps = "layer_norm_epsilon",
                                            .sliding_window = "",
                                            .activation = "mlp_hidden_act"},
                                   .kv_heads = 8,
                                   .head_dim = 128,
                                   .max_positions = 4096,
                                   .rms_norm_eps = 1e-5,
                                   .activation = "relu2",
                                   .mlp_bias = false,
                                   .rotary = false},
                        .describe = describe_nemotron_h};

}  // namespace cogen::models
