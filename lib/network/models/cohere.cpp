#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <utility>

namespace cogen::models {
namespace {

/// One norm before attention and feed-forward, which are added together; neighbors are rotated.
model_spec cohere_decoder(const load::config_fields& fields, const load::model_config& config) {
  auto spec = decoder(config, layer_norm(config, "model.norm", false));
  spec.head.scale = fields.real("logit_scale", load::multipliers, 0.0625);
  return spec;
}

attention_spec cohere_attention(const load::model_config& config) {
  auto self_attn = attention(config);
  self_attn.rope->interleaved = true;
  return self_attn;
}

void add(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attends) {
  add_parallel(spec, layer, std::move(attends), gated_mlp(config),
               layer_norm(config, layer_prefix(layer) + "input_layernorm", false));
}

model_spec describe_cohere(const load::config_fields& fields, const load::model_config& config) {
  auto spec = cohere_decoder(fields, config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = cohere_attention(config);
    if (fields.boolean("use_qk_norm", false))
      attends.qk_norm = qk_norm_spec{
          .epsilon = config.rms_norm_eps, .type = norm_spec::kind::layer, .over = qk_norm_spec::scope::each_head};
    add(spec, config, layer, std::move(attends));
  }
  return spec;
}

model_spec describe_cohere2(const load::config_fields& fields, const load::model_config& config) {
  const auto pattern = fields.integer("sliding_window_pattern", {1}, 4);
  const auto windows = sliding_layers(fields, config, [&](std::int64_t layer) { return (layer + 1) % pattern != 0; });
  auto spec = cohere_decoder(fields, config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = cohere_attention(config);
    if (windows[static_cast<std::size_t>(layer)])
      attends.kv = sliding(config, *config.sliding_window);
    else
      attends.rope.reset();
    add(spec, config, layer, std::move(attends));
  }
  return spec;
}

}  // namespace

/// Command R: Cohere For AI, c4ai-command-r-v01.
const family cohere{
    .title = "Command R (Cohere)",
    .fields = {.family = "cohere",
               .sizes = {.vocabulary = 256000, .hidden = 8192, .layers = 40, .heads = 64, .intermediate = 22528},
               .tokens = {.bos = 5, .pad = 0, .eos = 255001},
               .gguf = {.architecture = "command-r"},
               .keys = no_window_layer_norm_keys,
               .max_positions = 8192,
               .rms_norm_eps = 1e-5,
               .rope_theta = 500000,
               .tie_embeddings = true},
    .describe = describe_cohere};

/// Command R7B: windows in three of four layers; the others do not rotate.
const family cohere2{
    .title = "Command R7B (Cohere 2)",
    .fields = {.family = "cohere2",
               .sizes = {.vocabulary = 256000, .hidden = 8192, .layers = 40, .heads = 64, .intermediate = 22528},
               .tokens = {.bos = 5, .pad = 0, .eos = 255001},
               .keys = {.rms_norm_eps = "layer_norm_eps"},
               .max_positions = 8192,
               .sliding_window = 4096,
               .rms_norm_eps = 1e-5,
               .tie_embeddings = true},
    .describe = describe_cohere2};

}  // namespace cogen::models
