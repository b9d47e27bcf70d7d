#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <optional>

namespace cogen::models {
namespace {

/// Unlike others, MPT takes every other slope of the next power of two first, and cuts the list.
alibi_spec mpt_alibi(int heads) {
  const auto power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(heads)));
  alibi_spec spec;
  const auto add = [&](int head) {
    if (static_cast<int>(spec.slopes.size()) < heads)
      spec.slopes.push_back(static_cast<float>(std::exp2(-8.0 * (head + 1) / power)));
  };
  if (power == heads)
    for (int head = 0; head < power; ++head) add(head);
  for (int head = 1; head < power; head += 2) add(head);
  for (int head = 0; head < power; head += 2) add(head);
  return spec;
}

model_spec describe_mpt(const load::config_fields& fields, const load::model_config& config) {
  constexpr load::real_range clips{1e-6, 1e6};
  auto spec =
      decoder(config, layer_norm(config, "transformer.norm_f", false), {.base = "transformer.", .embedding = "wte"});
  auto attends = attention(config);
  attends.qkv = {"Wqkv"};
  attends.output = "out_proj";
  attends.rope.reset();
  attends.alibi = mpt_alibi(attends.heads);
  if (fields.has("attn_config.clip_qkv"))
    attends.qkv_clip = static_cast<float>(fields.real("attn_config.clip_qkv", clips));
  if (fields.has("attn_config.softmax_scale")) attends.scale = fields.real("attn_config.softmax_scale", clips);
  const auto mlp = plain_mlp(config, "up_proj", "down_proj");
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("transformer.blocks.{}.", layer);
    spec.blocks.push_back(
        {.part = attends, .prefix = prefix + "attn.", .pre_norm = layer_norm(config, prefix + "norm_1", false)});
    spec.blocks.push_back(
        {.part = mlp, .prefix = prefix + "ffn.", .pre_norm = layer_norm(config, prefix + "norm_2", false)});
  }
  return spec;
}

}  // namespace

/// MosaicML, 2023: linear biases of attention, layer norms without biases.
const family mpt{.title = "MPT",
                 .fields = {.family = "mpt",
                            .sizes = {.vocabulary = 50368, .hidden = 2048, .layers = 24, .heads = 16},
                            .keys = {.hidden = "d_model",
                                     .layers = "n_layers",
                                     .heads = "n_heads",
                                     .kv_heads = "",
                                     .head_dim = "",
                                     .intermediate = "ffn_hidden_size",
                                     .max_positions = "max_seq_len",
                                     .rms_norm_eps = "layer_norm_epsilon",
                                     .sliding_window = "",
                                     .activation = "hidden_act"},
                            .rms_norm_eps = 1e-5,
                            .intermediate_factor = 4,
                            .activation = "gelu",
                            .attention_bias = std::nullopt,
                            .tie_embeddings = true,
                            .rotary = false},
                 .describe = describe_mpt};

}  // namespace cogen::models
