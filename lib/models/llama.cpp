#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {

/// Llama 1 to 3 and the many models of the same shape: Touvron et al., arXiv:2302.13971 and arXiv:2307.09288.
model_spec llama(const load::config_fields&, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) { return attention(config); });
}

}  // namespace cogen::models
