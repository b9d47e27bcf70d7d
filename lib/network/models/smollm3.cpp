#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_smollm3(const load::config_fields& fields, const load::model_config& config) {
  const auto rotates = rotating_layers(fields, config);
  const bool any_window = fields.boolean("use_sliding_window", false) && config.sliding_window;
  const auto windows = sliding_layers(
      fields, config, [&](std::int64_t layer) { return any_window && !rotates[static_cast<std::size_t>(layer)]; });
  return like_llama(config, [&](std::int64_t layer) {
    const auto index = static_cast<std::size_t>(layer);
    auto self_attn = attention(config);
    if (!rotates[index]) self_attn.rope.reset();
    if (windows[index]) self_attn.kv = sliding(config, *config.sliding_window);
    return self_attn;
  });
}

}  // namespace

/// SmolLM3: Llama with layers that do not rotate, every fourth unless the file lists them (Yang et al.,
/// arXiv:2501.18795).
const family smollm3{
    .title = "SmolLM 3",
    .fields = {.family = "smollm3",
               .sizes = {.vocabulary = 128256, .hidden = 2048, .layers = 36, .heads = 16, .intermediate = 11008},
               .tokens = {.bos = 128000, .pad = 128004, .eos = 128001},
               .gguf = {.interleaved = true},
               .kv_heads = 4,
               .max_positions = 32768,
               .rope_theta = 2e6,
               .mlp_bias = false,
               .tie_embeddings = true},
    .describe = describe_smollm3};

}  // namespace cogen::models
