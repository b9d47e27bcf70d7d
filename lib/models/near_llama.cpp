#include "models/families.hpp"
#include "models/like_llama.hpp"

namespace cogen::models {

// Families that differ from Llama in one place.

/// ByteDance Seed Team: biases of queries, keys and values, and of the output, are told apart.
model_spec seed_oss(const load::config_fields& fields, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) {
    auto made = attention(config);
    made.qkv_bias = fields.boolean("attention_bias", true);
    made.output_bias = fields.boolean("attention_out_bias", false);
    return made;
  });
}

/// Arcee AI: feed-forwards without a gate.
model_spec arcee(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_layer(spec, config, layer, attention(config), plain_mlp(config, "up_proj", "down_proj"));
  return spec;
}

/// Baidu: rotates neighbors, and biases are everywhere or nowhere.
model_spec ernie4_5(const load::config_fields& fields, const load::model_config& config) {
  const bool bias = fields.boolean("use_bias", false);
  auto attends = attention(config);
  attends.rope->interleaved = true;
  attends.qkv_bias = attends.output_bias = bias;
  auto mlp = gated_mlp(config);
  mlp.bias = bias;
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add_layer(spec, config, layer, attends, mlp);
  return spec;
}

/// Tencent: norms of each head's queries and keys come after their rotation.
model_spec hunyuan_v1_dense(const load::config_fields&, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) {
    auto made = attention(config);
    made.qk_norm =
        qk_norm_spec{.q = "query_layernorm", .k = "key_layernorm", .epsilon = config.rms_norm_eps, .after_rope = true};
    return made;
  });
}

/// Swiss AI, arXiv:2509.14233: feed-forwards without a gate, whose activation has parameters of its own.
model_spec apertus(const load::config_fields&, const load::model_config& config) {
  auto spec = decoder(config);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = attention(config);
    attends.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps};
    add_sandwich(spec, config, layer, attends, plain_mlp(config, "up_proj", "down_proj"),
                 {.before_attention = "attention_layernorm",
                  .after_attention = "",
                  .before_mlp = "feedforward_layernorm",
                  .after_mlp = ""});
  }
  return spec;
}

}  // namespace cogen::models
