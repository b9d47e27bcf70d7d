#include "network/models/classifier.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

namespace cogen::models {
namespace {

constexpr load::family_fields fields_of(std::string_view name, std::int64_t vocabulary,
                                        const load::default_tokens& tokens, bool first_follows_padding) {
  return {.family = name,
          .sizes = {.vocabulary = vocabulary, .hidden = 768, .layers = 12, .heads = 12, .intermediate = 3072},
          .tokens = tokens,
          .gguf = {.architecture = "bert"},
          .keys = {.kv_heads = "", .head_dim = "", .rms_norm_eps = "layer_norm_eps", .sliding_window = ""},
          .max_positions = 512,
          .rms_norm_eps = 1e-12,
          .activation = "gelu",
          .tie_embeddings = true,
          .rotary = false,
          .first_position_follows_padding = first_follows_padding};
}

constexpr load::integer_range type_counts{1, 1 << 10};

attention_spec attention_of(const load::model_config& config) {
  auto attends = attention(config);
  attends.qkv = {"self.query", "self.key", "self.value"};
  attends.output = "output.dense";
  attends.qkv_bias = attends.output_bias = true;
  attends.rope.reset();
  attends.causal = false;
  return attends;
}

mlp_spec mlp_of(const load::model_config& config) {
  auto mlp = plain_mlp(config, "intermediate.dense", "output.dense");
  mlp.bias = true;
  return mlp;
}

/// Each half of a layer is normed after it.
void add_encoder_layer(model_spec& spec, const load::model_config& config, std::int64_t layer) {
  const auto prefix = fmt::format("{}encoder.layer.{}.", spec.base, layer);
  spec.blocks.push_back({.part = attention_of(config),
                         .prefix = prefix + "attention.",
                         .post = layer_norm(config, prefix + "attention.output.LayerNorm")});
  spec.blocks.push_back(
      {.part = mlp_of(config), .prefix = prefix, .post = layer_norm(config, prefix + "output.LayerNorm")});
}

void check(const load::config_fields& fields) {
  if (fields.string("position_embedding_type", "absolute") != "absolute")
    fields.refuse("position_embedding_type", "'absolute' is known");
}

model_spec like_bert(const load::config_fields& fields, const load::model_config& config, const std::string& base,
                     std::int64_t first_position) {
  check(fields);
  const auto embeddings = base + "embeddings.";
  const position_table_spec positions{.name = embeddings + "position_embeddings",
                                      .offset = first_position,
                                      .types = embeddings + "token_type_embeddings",
                                      .type_count = fields.integer("type_vocab_size", type_counts, 2)};
  model_spec spec{.base = base,
                  .embedding = {.names = {embeddings + "word_embeddings"},
                                .positions = positions,
                                .norm = layer_norm(config, embeddings + "LayerNorm")},
                  .pooling = pooling_spec(),
                  .unread = {embeddings + "position_ids", base + "pooler.dense.weight", base + "pooler.dense.bias",
                             "cls.*", "lm_head.*"}};
  for (std::int64_t layer = 0; layer < config.layers; ++layer) add_encoder_layer(spec, config, layer);
  return spec;
}

model_spec describe_bert(const load::config_fields& fields, const load::model_config& config) {
  auto spec = like_bert(fields, config, "bert.", 0);
  const auto width = config.hidden;
  if (classifies(fields))
    spec.pooling = scoring(
        pooling_spec::kind::cls,
        {{.name = "bert.pooler.dense", .inputs = width, .outputs = width, .activation = dense_spec::function::tanh},
         {.name = "classifier", .inputs = width, .outputs = 1}});
  return spec;
}

model_spec describe_roberta(const load::config_fields& fields, const load::model_config& config) {
  auto spec = like_bert(fields, config, "roberta.", config.pad.value_or(1) + 1);
  const auto width = config.hidden;
  if (classifies(fields))
    spec.pooling = scoring(
        pooling_spec::kind::cls,
        {{.name = "classifier.dense", .inputs = width, .outputs = width, .activation = dense_spec::function::tanh},
         {.name = "classifier.out_proj", .inputs = width, .outputs = 1}});
  return spec;
}

}  // namespace

/// Devlin et al., arXiv:1810.04805. A classifier reads what the pooler makes of the first token. GGUF files of all
/// three are read as this one: their tables begin with the first position.
const family bert{.title = "BERT", .fields = fields_of("bert", 30522, {.pad = 0}, false), .describe = describe_bert};

/// Liu et al., arXiv:1907.11692: positions begin behind the padding token's row.
const family roberta{.title = "RoBERTa",
                     .fields = fields_of("roberta", 50265, {.bos = 0, .pad = 1, .eos = 2}, true),
                     .describe = describe_roberta};

/// Conneau et al., arXiv:1911.02116: RoBERTa in many languages.
const family xlm_roberta{.title = "XLM-RoBERTa",
                         .fields = fields_of("xlm-roberta", 30522, {.bos = 0, .pad = 1, .eos = 2}, true),
                         .describe = describe_roberta};

}  // namespace cogen::models
