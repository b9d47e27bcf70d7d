#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cogen::models {
namespace {

constexpr load::key_names rwkv_keys{.heads = "",
                                    .kv_heads = "",
                                    .head_dim = "",
                                    .max_positions = "",
                                    .rms_norm_eps = "layer_norm_epsilon",
                                    .sliding_window = ""};

/// Transformers halves hidden states, and what is added to them, behind every so many layers. Here they keep their
/// size, and epsilons grow instead: norms of x / 2^n are those of x with 4^n times the epsilon, bit for bit. The last
/// one's is not a setting.
model_spec describe_rwkv(const load::config_fields& fields, const load::model_config& config) {
  const auto every = fields.integer("rescale_every", {-(1 << 20), 1 << 20}, 6);
  const auto norm = [&](std::int64_t layer, std::string name) {
    auto result = layer_norm(config, std::move(name));
    if (layer == config.layers) result.epsilon = 1e-5;
    if (every > 0) result.epsilon *= std::exp2(2 * (layer / every));
    return result;
  };
  auto spec =
      decoder(config, norm(config.layers, "rwkv.ln_out"), {.base = "rwkv.", .embedding = "embeddings", .head = "head"});
  spec.embedding.norm = norm(0, "rwkv.blocks.0.pre_ln");
  const auto channels = fields.integer("attention_hidden_size", load::inner_widths, config.hidden);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("rwkv.blocks.{}.", layer);
    spec.blocks.push_back({.part = time_mix_spec{.inputs = config.hidden, .channels = channels},
                           .prefix = prefix + "attention.",
                           .pre_norm = norm(layer, prefix + "ln1")});
    spec.blocks.push_back({.part = channel_mix_spec{.inputs = config.hidden, .intermediate = config.intermediate},
                           .prefix = prefix + "feed_forward.",
                           .pre_norm = norm(layer, prefix + "ln2")});
  }
  return spec;
}

}  // namespace

/// Peng et al., arXiv:2305.13048, its fourth version; weights named as in Transformers' modeling_rwkv.py.
const family rwkv{.title = "RWKV 4",
                  .fields = {.family = "rwkv",
                             .sizes = {.vocabulary = 50277, .hidden = 4096, .layers = 32},
                             .tokens = {.bos = 0, .eos = 0},
                             .gguf = {.known = false},
                             .keys = rwkv_keys,
                             .max_positions = load::unlimited_positions,
                             .rms_norm_eps = 1e-5,
                             .intermediate_factor = 4,
                             .rotary = false},
                  .describe = describe_rwkv};

}  // namespace cogen::models
