#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

#include <optional>

namespace cogen::models {
namespace {

model_spec describe_mixtral(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 8, .top_k = 2});
  experts.router.renormalized = true;
  experts.expert.gate = "w1";
  experts.expert.up = "w3";
  experts.expert.down = "w2";
  auto spec = mistral.describe(fields, config);
  put_experts(spec, experts, "block_sparse_moe.");
  return spec;
}

}  // namespace

/// Jiang et al., arXiv:2401.04088: Mistral with experts. Their shares are a softmax over the chosen ones.
const family mixtral{
    .title = "Mixtral",
    .fields = {.family = "mixtral",
               .sizes = {.vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 14336},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.architecture = "llama"},
               .kv_heads = 8,
               .max_positions = 131072,
               .rms_norm_eps = 1e-5,
               .rope_theta = 1e6,
               .attention_bias = std::nullopt},
    .describe = describe_mixtral};

}  // namespace cogen::models
