#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe(const load::config_fields& fields, const load::model_config& config) {
  const auto listed = fields.integers("no_rope_layers", {0, 1});
  const auto interval = fields.integer("no_rope_layer_interval", {1}, 4);
  if (!listed.empty() && static_cast<std::int64_t>(listed.size()) != config.layers)
    fields.refuse("no_rope_layers", "it must have a 0 or 1 for each layer");
  const bool any_window = fields.boolean("use_sliding_window", false) && config.sliding_window;
  const auto rotates = [&](std::int64_t layer) {
    return listed.empty() ? (layer + 1) % interval != 0 : listed[static_cast<std::size_t>(layer)] != 0;
  };
  const auto windows =
      sliding_layers(fields, config, [&](std::int64_t layer) { return any_window && !rotates(layer); });
  return like_llama(config, [&](std::int64_t layer) {
    auto made = attention(config);
    if (!rotates(layer)) made.rope.reset();
    if (windows[static_cast<std::size_t>(layer)]) made.kv = sliding(config, *config.sliding_window);
    return made;
  });
}

}  // namespace

/// SmolLM3: Llama with layers that do not rotate, every fourth unless the file lists them (Yang et al.,
/// arXiv:2501.18795).
const family smollm3{.title = "SmolLM 3",
                     .fields = {.family = "smollm3",
                                .gguf = {.interleaved = true},
                                .kv_heads = 4,
                                .max_positions = 32768,
                                .rope_theta = 2e6,
                                .tie_embeddings = true},
                     .describe = describe};

}  // namespace cogen::models
