#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {

namespace {

constexpr load::real_range multipliers{1e-9, 1e9};

}  // namespace

/// Granite Team, IBM: Llama with four multipliers. Logits are divided by theirs.
model_spec granite(const load::config_fields& fields, const load::model_config& config) {
  const auto multiplier = [&](std::string_view key) { return fields.real(key, multipliers, 1); };
  auto spec = like_llama(config, [&](std::int64_t) {
    auto made = attention(config);
    made.scale = multiplier("attention_multiplier");
    return made;
  });
  spec.embedding.scale = multiplier("embedding_multiplier");
  spec.head.scale = 1 / multiplier("logits_scaling");
  for (auto& block : spec.blocks) block.residual_scale = static_cast<float>(multiplier("residual_multiplier"));
  return spec;
}

}  // namespace cogen::models
