#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_hunyuan_v1_dense(const load::config_fields&, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    self_attn.qk_norm =
        qk_norm_spec{.q = "query_layernorm", .k = "key_layernorm", .epsilon = config.rms_norm_eps, .after_rope = true};
    return self_attn;
  });
}

}  // namespace

/// Tencent: norms of each head's queries and keys come after their rotation.
const family hunyuan_v1_dense{
    .title = "Hunyuan dense",
    .fields = {.family = "hunyuan_v1_dense",
               .sizes = {.vocabulary = 290943, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.bos = 1, .pad = 0, .eos = 2},
               .gguf = {.architecture = "hunyuan-dense"},
               .keys = no_window_keys,
               .rms_norm_eps = 1e-5},
    .describe = describe_hunyuan_v1_dense};

}  // namespace cogen::models
