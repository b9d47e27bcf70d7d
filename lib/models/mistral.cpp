#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {

/// Jiang et al., arXiv:2310.06825: Llama with a window in every layer.
model_spec mistral(const load::config_fields&, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) {
    auto made = attention(config);
    if (config.sliding_window) made.kv = sliding(config, *config.sliding_window);
    return made;
  });
}

}  // namespace cogen::models
