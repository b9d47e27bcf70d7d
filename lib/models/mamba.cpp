#include "load/mamba_fields.hpp"
#include "models/families.hpp"
#include "models/like_llama.hpp"
#include "models/mamba_mixer.hpp"

#include <fmt/format.h>

namespace cogen::models {

namespace {

template <class Mixer>
model_spec only_mixers(const load::model_config& config, const Mixer& mixer) {
  auto spec = decoder(config, rms_norm(config, "backbone.norm_f"), {.base = "backbone.", .embedding = "embeddings"});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("backbone.layers.{}.", layer);
    spec.blocks.push_back({.what = mixer, .prefix = prefix + "mixer.", .before = rms_norm(config, prefix + "norm")});
  }
  return spec;
}

}  // namespace

/// Gu and Dao, arXiv:2312.00752; weights named as in Transformers' modeling_mamba.py.
model_spec mamba(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Mamba's is silu");
  return only_mixers(config, mamba_mixer(load::read_mamba_fields(fields, config)));
}

/// Dao and Gu, arXiv:2405.21060; weights named as in Transformers' modeling_mamba2.py.
model_spec mamba2(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Mamba-2's is silu");
  return only_mixers(config, mamba2_mixer(fields, load::read_mamba2_fields(fields, config), config));
}

}  // namespace cogen::models
