#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/latent_attention.hpp"

#include <cmath>

namespace cogen::models {
namespace {

model_spec describe_minicpm3(const load::config_fields& fields, const load::model_config& config) {
  auto attention =
      latent_attention(fields, config, {.nope_dim = 64, .rope_dim = 32, .value_dim = 0, .kv_rank = 256, .q_rank = 768});
  attention.rope.interleaved = false;
  auto spec = latent_decoder(config, attention);
  spec.embedding.scale = fields.real("scale_emb", load::multipliers, 12);
  const auto hidden = static_cast<double>(config.hidden);
  const auto layers = std::sqrt(static_cast<double>(config.layers));
  const bool scales = !fields.is_null("scale_depth"), divides = !fields.is_null("dim_model_base");
  if (divides) spec.head.scale = fields.real("dim_model_base", load::multipliers, 256) / hidden;
  const auto residual = scales ? fields.real("scale_depth", load::multipliers, 1.4) / layers : 1;
  for (auto& block : spec.blocks) block.residual_scale = static_cast<float>(residual);
  return spec;
}

}  // namespace

/// MiniCPM 3 (Hu et al., arXiv:2404.06395): latent attention in which halves are rotated, and three multipliers.
/// GGUF files have the published ones, which are the defaults.
const family minicpm3{
    .title = "MiniCPM 3",
    .fields = {.family = "minicpm3",
               .sizes = {.vocabulary = 73448, .hidden = 2560, .layers = 62, .heads = 40, .intermediate = 6400},
               .tokens = {.bos = 1, .eos = 2},
               .keys = latent_keys,
               .head_dim = 32,
               .max_positions = 32768,
               .rms_norm_eps = 1e-5,
               .mlp_bias = false,
               .tie_embeddings = true},
    .describe = describe_minicpm3};

}  // namespace cogen::models
