#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

constexpr load::key_names mamba_keys{.heads = "",
                                     .kv_heads = "",
                                     .head_dim = "",
                                     .intermediate = "",
                                     .max_positions = "",
                                     .rms_norm_eps = "layer_norm_epsilon",
                                     .sliding_window = ""};

template <class Mixer>
model_spec only_mixers(const load::model_config& config, const Mixer& mixer) {
  auto spec = decoder(config, rms_norm(config, "backbone.norm_f"), {.base = "backbone.", .embedding = "embeddings"});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("backbone.layers.{}.", layer);
    spec.blocks.push_back({.part = mixer, .prefix = prefix + "mixer.", .pre_norm = rms_norm(config, prefix + "norm")});
  }
  return spec;
}

model_spec describe_mamba(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Mamba's is silu");
  return only_mixers(config, mamba_mixer(read_mamba_fields(fields, config)));
}

model_spec describe_mamba2(const load::config_fields& fields, const load::model_config& config) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Mamba-2's is silu");
  return only_mixers(config, mamba2_mixer(fields, read_mamba2_fields(fields, config), config));
}

}  // namespace

/// Gu and Dao, arXiv:2312.00752; weights named as in Transformers' modeling_mamba.py.
const family mamba{.title = "Mamba",
                   .fields = {.family = "mamba",
                              .sizes = {.vocabulary = 50280, .hidden = 768, .layers = 32},
                              .tokens = {.bos = 0, .pad = 0, .eos = 0},
                              .keys = mamba_keys,
                              .max_positions = load::unlimited_positions,
                              .rms_norm_eps = 1e-5,
                              .tie_embeddings = true,
                              .rotary = false},
                   .describe = describe_mamba};

/// Dao and Gu, arXiv:2405.21060; weights named as in Transformers' modeling_mamba2.py.
const family mamba2{.title = "Mamba-2",
                    .fields = {.family = "mamba2",
                               .sizes = {.vocabulary = 32768, .hidden = 4096, .layers = 64},
                               .tokens = {.bos = 0, .pad = 1, .eos = 2},
                               .keys = mamba_keys,
                               .max_positions = load::unlimited_positions,
                               .rms_norm_eps = 1e-5,
                               .rotary = false},
                    .describe = describe_mamba2};

}  // namespace cogen::models
