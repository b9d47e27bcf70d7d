#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <optional>

namespace cogen::models {
namespace {

model_spec describe_mistral(const load::config_fields&, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    if (config.sliding_window) self_attn.kv = sliding(config, *config.sliding_window);
    return self_attn;
  });
}

}  // namespace

/// Jiang et al., arXiv:2310.06825: Llama with a window in every layer.
const family mistral{
    .title = "Mistral",
    .fields = {.family = "mistral",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .eos = 2},
               .kv_heads = 8,
               .max_positions = 131072,
               .sliding_window = 4096,
               .attention_bias = std::nullopt},
    .describe = describe_mistral};

}  // namespace cogen::models
