#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

namespace cogen::models {
namespace {

model_spec describe_seed_oss(const load::config_fields& fields, const load::model_config& config) {
  return like_llama(config, [&](std::int64_t) {
    auto self_attn = attention(config);
    self_attn.qkv_bias = fields.boolean("attention_bias", true);
    self_attn.output_bias = fields.boolean("attention_out_bias", false);
    return self_attn;
  });
}

}  // namespace

/// ByteDance Seed Team: biases of queries, keys and values, and of the output, are told apart.
const family seed_oss{
    .title = "Seed-OSS",
    .fields = {.family = "seed_oss",
               .sizes = {.vocabulary = 155136, .hidden = 4096, .layers = 64, .heads = 80, .intermediate = 27648},
               .tokens = {.bos = 0, .pad = 1, .eos = 2},
               .keys = no_window_keys,
               .kv_heads = 8,
               .head_dim = 128,
               .max_positions = 524288,
               .mlp_bias = false},
    .describe = describe_seed_oss};

}  // namespace cogen::models
