#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

attention_spec qwen_attention(const load::config_fields& fields, const load::model_config& config, bool slides) {
  auto self_attn = attention(config);
  if (slides && fields.boolean("use_sliding_window", false)) self_attn.kv = sliding(config, *config.sliding_window);
  return self_attn;
}

/// Without layer_types, layers from max_window_layers on have the window.
std::vector<bool> qwen_windows(const load::config_fields& fields, const load::model_config& config) {
  const bool any = fields.boolean("use_sliding_window", false) && config.sliding_window;
  const auto first = fields.integer("max_window_layers", {0}, 28);
  return sliding_layers(fields, config, [&](std::int64_t layer) { return any && layer >= first; });
}

model_spec describe_qwen2(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = qwen_windows(fields, config);
  return like_llama(config, [&](std::int64_t layer) {
    auto self_attn = qwen_attention(fields, config, windows[static_cast<std::size_t>(layer)]);
    self_attn.qkv_bias = fields.boolean("qkv_bias", true);
    self_attn.output_bias = false;
    return self_attn;
  });
}

//[qwen3
model_spec describe_qwen3(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = qwen_windows(fields, config);
  return like_llama(config, [&](std::int64_t layer) {
    auto self_attn = qwen_attention(fields, config, windows[static_cast<std::size_t>(layer)]);
    self_attn.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps};
    return self_attn;
  });
}
//]

}  // namespace

/// Yang et al., arXiv:2407.10671: Llama with biases of queries, keys and values.
const family qwen2{
    .title = "Qwen 2, Qwen 2.5",
    .fields = {.family = "qwen2",
               .sizes = {.vocabulary = 151936, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 22016},
               .kv_heads = 32,
               .max_positions = 32768,
               .sliding_window = 4096},
    .describe = describe_qwen2};

//[qwen3-family
/// Yang et al., arXiv:2505.09388: Llama with a norm of each head's queries and keys.
const family qwen3{
    .title = "Qwen 3",
    .fields = {.family = "qwen3",
               .sizes = {.vocabulary = 151936, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 22016},
               .kv_heads = 32,
               .head_dim = 128,
               .max_positions = 32768,
               .sliding_window = 4096},
    .describe = describe_qwen3};
//]

}  // namespace cogen::models
