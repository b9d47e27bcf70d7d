#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <utility>

namespace cogen::models {
namespace {

model_spec describe_opt(const load::config_fields& fields, const load::model_config& config) {
  const bool pre_norm = fields.boolean("do_layer_norm_before", true);
  const bool bias = fields.boolean("enable_bias", true);
  const bool affine = fields.boolean("layer_norm_elementwise_affine", true);
  const auto norm = [&](std::string name) { return layer_norm(config, affine ? std::move(name) : "", affine); };
  const auto width = fields.integer("word_embed_proj_dim", {1, 1 << 20}, config.hidden);
  constexpr std::int64_t first_position = 2;
  auto spec = decoder(config, std::nullopt, {.embedding = "decoder.embed_tokens"});
  spec.embedding.positions = position_table_spec{"model.decoder.embed_positions", first_position};
  if (width != config.hidden) {
    spec.embedding.width = spec.head.width = width;
    spec.embedding.projection = "model.decoder.project_in";
    spec.head.projection = "model.decoder.project_out";
  }
  if (pre_norm && !fields.boolean("_remove_final_layer_norm", false))
    spec.final_norm = norm("model.decoder.final_layer_norm");
  auto attends = attention(config);
  attends.output = "out_proj";
  attends.qkv_bias = attends.output_bias = bias;
  attends.rope.reset();
  auto mlp = plain_mlp(config, "fc1", "fc2");
  mlp.bias = bias;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = fmt::format("model.decoder.layers.{}.", layer);
    const auto attention_norm = norm(prefix + "self_attn_layer_norm");
    const auto mlp_norm = norm(prefix + "final_layer_norm");
    block_spec first{.part = attends, .prefix = prefix + "self_attn."}, second{.part = mlp, .prefix = prefix};
    (pre_norm ? first.pre_norm : first.post) = attention_norm;
    (pre_norm ? second.pre_norm : second.post) = mlp_norm;
    spec.blocks.push_back(std::move(first));
    spec.blocks.push_back(std::move(second));
  }
  return spec;
}

}  // namespace

/// Zhang et al., arXiv:2205.01068: learned positions that begin at row 2. The 350M model has its norms behind each
/// half, and narrower embeddings.
const family opt{
    .title = "OPT",
    .fields = {.family = "opt",
               .sizes = {.vocabulary = 50272, .hidden = 768, .layers = 12, .heads = 12, .intermediate = 3072},
               .tokens = {.bos = 2, .pad = 1, .eos = 2},
               .gguf = {.known = false},
               .keys = {.kv_heads = "",
                        .head_dim = "",
                        .intermediate = "ffn_dim",
                        .rms_norm_eps = "",
                        .sliding_window = "",
                        .activation = "activation_function"},
               .rms_norm_eps = 1e-5,
               .activation = "relu",
               .tie_embeddings = true,
               .rotary = false},
    .describe = describe_opt};

}  // namespace cogen::models
