#include "network/models/classifier.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/modern_bert_fields.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

/// Half of the window lies on either side of a token.
attention_spec attention_of(const load::model_config& config, const modern_bert_fields& own, bool slides) {
  auto attends = attention(config);
  attends.qkv = {"Wqkv"};
  attends.output = "Wo";
  attends.rope = rope_spec{slides ? own.local : own.global};
  if (slides) attends.kv = sliding(config, config.sliding_window.value() / 2 + 1);
  attends.causal = false;
  return attends;
}

mlp_spec modern_bert_mlp(const load::model_config& config) {
  auto mlp = gated_mlp(config);
  mlp.gate = mlp.up = "Wi";
  mlp.down = "Wo";
  return mlp;
}

dense_spec::function function_named(const load::config_fields& fields, std::string_view key) {
  const auto name = fields.string(key, "gelu");
  if (name == "gelu") return dense_spec::function::gelu;
  if (name == "tanh") return dense_spec::function::tanh;
  if (name == "relu") return dense_spec::function::relu;
  fields.refuse(key, "'gelu', 'tanh' and 'relu' are known");
}

pooling_spec scoring_head(const load::config_fields& fields, const load::model_config& config, norm_spec norm) {
  const bool by_mean = fields.string("classifier_pooling", "cls") == "mean";
  return scoring(by_mean ? pooling_spec::kind::mean : pooling_spec::kind::cls,
                 {{.name = "head.dense",
                   .inputs = config.hidden,
                   .outputs = config.hidden,
                   .bias = fields.boolean("classifier_bias", false),
                   .activation = function_named(fields, "classifier_activation"),
                   .norm = std::move(norm)},
                  {.name = "classifier", .inputs = config.hidden, .outputs = 1}});
}

model_spec describe_modernbert(const load::config_fields& fields, const load::model_config& config) {
  const auto own = read_modern_bert_fields(fields, config);
  const auto norm = [&, bias = fields.boolean("norm_bias", false)](std::string name) {
    return layer_norm(config, std::move(name), bias);
  };
  model_spec spec{.base = "model.",
                  .embedding = {.names = {"model.embeddings.tok_embeddings"}, .norm = norm("model.embeddings.norm")},
                  .final_norm = norm("model.final_norm"),
                  .pooling = pooling_spec(),
                  .unread = {"decoder.*"}};
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto prefix = layer_prefix(layer);
    const bool slides = own.slides.at(static_cast<std::size_t>(layer));
    spec.blocks.push_back({.part = attention_of(config, own, slides),
                           .prefix = prefix + "attn.",
                           .pre_norm = layer == 0 ? std::nullopt : std::optional(norm(prefix + "attn_norm"))});
    spec.blocks.push_back(
        {.part = modern_bert_mlp(config), .prefix = prefix + "mlp.", .pre_norm = norm(prefix + "mlp_norm")});
  }
  if (classifies(fields))
    spec.pooling = scoring_head(fields, config, norm("head.norm"));
  else
    spec.unread.push_back("head.*");
  return spec;
}

}  // namespace

/// Warner et al., arXiv:2412.13663. The first layer's attention reads the normed embedding.
const family modernbert{
    .title = "ModernBERT",
    .fields = {.family = "modernbert",
               .sizes = {.vocabulary = 50368, .hidden = 768, .layers = 22, .heads = 12, .intermediate = 1152},
               .tokens = {.bos = 50281, .pad = 50283, .eos = 50282},
               .gguf = {.architecture = "modern-bert"},
               .keys = {.kv_heads = "",
                        .head_dim = "",
                        .rms_norm_eps = "norm_eps",
                        .sliding_window = "local_attention",
                        .activation = "hidden_activation"},
               .max_positions = 8192,
               .sliding_window = 128,
               .rms_norm_eps = 1e-5,
               .rope_theta = 160000,
               .activation = "gelu",
               .mlp_bias = false,
               .tie_embeddings = true},
    .describe = describe_modernbert};

}  // namespace cogen::models
