#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_llama(const load::config_fields& fields, const load::model_config& config) {
  if (fields.is_gguf() && fields.integer("expert_count", {0}, 0) > 0) return mixtral.describe(fields, config);
  return like_llama(config, [&](std::int64_t) { return attention(config); });
}

}  // namespace

/// Llama 1 to 3 and the many models of the same shape: Touvron et al., arXiv:2302.13971 and arXiv:2307.09288. GGUF
/// files of Mixtral have its name, and experts.
const family llama{
    .title = "Llama (SmolLM, Yi and others of its shape)",
    .fields = {.family = "llama",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.architecture = "llama", .interleaved = true},
               .mlp_bias = false},
    .describe = describe_llama};

}  // namespace cogen::models
