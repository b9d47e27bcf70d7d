#include "models/families.hpp"
#include "models/like_llama.hpp"
#include "models/mixture.hpp"

namespace cogen::models {

model_spec mistral(const load::config_fields& fields, const load::model_config& config);

/// Jiang et al., arXiv:2401.04088: Mistral with experts. Their shares are a softmax over the chosen ones.
model_spec mixtral(const load::config_fields& fields, const load::model_config& config) {
  auto experts = mixture(fields, config, {.experts = 8, .top_k = 2});
  experts.router.renormalized = true;
  experts.expert.gate = "w1";
  experts.expert.up = "w3";
  experts.expert.down = "w2";
  auto spec = mistral(fields, config);
  put_experts(spec, experts, "block_sparse_moe.");
  return spec;
}

}  // namespace cogen::models
