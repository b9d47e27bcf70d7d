#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <optional>

namespace cogen::models {
namespace {

model_spec describe_exaone4(const load::config_fields& fields, const load::model_config& config) {
  constexpr std::string_view key = "sliding_window_pattern";
  const auto pattern = fields.is(key, "LLLG") ? 4 : fields.integer(key, {0}, 4);  // three windows, then none
  const auto windows = sliding_layers(fields, config, [&](std::int64_t layer) {
    return config.sliding_window && pattern != 0 && (layer + 1) % pattern != 0;
  });
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = attention(config);
    attends.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps};
    if (windows[static_cast<std::size_t>(layer)])
      attends.kv = sliding(config, *config.sliding_window);
    else if (config.sliding_window)
      attends.rope.reset();
    add_sandwich(spec, config, layer, attends, gated_mlp(config), {.before_attention = "", .before_mlp = ""});
  }
  return spec;
}

}  // namespace

/// LG AI Research, arXiv:2507.11407: norms behind each half and of each head's queries and keys. Where layers have
/// windows, the others do not rotate.
const family exaone4{
    .title = "EXAONE 4",
    .fields = {.family = "exaone4",
               .sizes = {.vocabulary = 102400, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 16384},
               .tokens = {.bos = 0, .eos = 2},
               .kv_heads = 32,
               .sliding_window = 4096,
               .rms_norm_eps = 1e-5,
               .attention_bias = std::nullopt},
    .describe = describe_exaone4};

}  // namespace cogen::models
