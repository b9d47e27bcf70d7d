#include "models/bart.hpp"

#include "layers/activation.hpp"
#include "layers/attention.hpp"
#include "layers/cross_attention.hpp"
#include "layers/embedding.hpp"
#include "layers/mlp.hpp"
#include "layers/norm.hpp"
#include "load/bart_fields.hpp"
#include "models/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace cogen::models {

namespace {

using layers::activations;

constexpr std::int64_t position_offset = 2;  // of the learned positions' table

layers::attention_shape attention_of(std::int64_t hidden, std::int64_t heads) {
  return {.hidden = hidden,
          .heads = static_cast<int>(heads),
          .kv_heads = static_cast<int>(heads),
          .head_dim = static_cast<int>(hidden / heads),
          .bias = true,
          .output = "out_proj"};
}

layers::cross_shape cross_of(const load::model_config& config) {
  return {
      .hidden = config.hidden, .heads = static_cast<int>(config.heads), .head_dim = static_cast<int>(config.head_dim)};
}

/// The embedding of tokens and positions, in the encoder or in the decoder.
struct bart_entry {
  layers::embedding embedding;
  layers::learned_positions positions;
  layers::layer_norm norm;

  bart_entry(const load::model_config& config, layers::embedding tokens, layers::weight_reader& weights,
             const std::string& prefix)
      : embedding(std::move(tokens)),
        positions(weights, prefix + "embed_positions.weight", position_offset, config.max_positions, config.hidden),
        norm(weights, prefix + "layernorm_embedding.", config.hidden, config.rms_norm_eps) {}

  void operator()(const layers::forward_context& context, std::span<const token> tokens, const activations& x) const {
    embedding(context, tokens, x);
    positions.add(context, x);
    norm(context, x, x);
  }
};

/// The norms come after each half, over the sum.
struct encoder_layer {
  layers::attention attention;
  layers::layer_norm after_attention;
  layers::mlp mlp;
  layers::layer_norm after_mlp;

  encoder_layer(const load::model_config& config, const load::bart_fields& own, layers::weight_reader& weights,
                const std::string& prefix)
      : attention(weights, prefix + "self_attn.", attention_of(config.hidden, own.encoder_heads)),
        after_attention(weights, prefix + "self_attn_layer_norm.", config.hidden, config.rms_norm_eps),
        mlp(weights, prefix, config.hidden, own.encoder_intermediate, layers::activation_named(config.activation)),
        after_mlp(weights, prefix + "final_layer_norm.", config.hidden, config.rms_norm_eps) {}

  void operator()(const layers::forward_context& context, const activations& x) const {
    attention.add(context, 0, x, x);
    after_attention(context, x, x);
    mlp.add(context, x, x);
    after_mlp(context, x, x);
  }
};

struct decoder_layer {
  layers::attention attention;
  layers::layer_norm after_attention;
  layers::cross_attention cross;
  layers::layer_norm after_cross;
  layers::mlp mlp;
  layers::layer_norm after_mlp;

  decoder_layer(const load::model_config& config, layers::weight_reader& weights, const std::string& prefix)
      : attention(weights, prefix + "self_attn.", attention_of(config.hidden, config.heads)),
        after_attention(weights, prefix + "self_attn_layer_norm.", config.hidden, config.rms_norm_eps),
        cross(weights, prefix + "encoder_attn.", cross_of(config)),
        after_cross(weights, prefix + "encoder_attn_layer_norm.", config.hidden, config.rms_norm_eps),
        mlp(weights, prefix, config.hidden, config.intermediate, layers::activation_named(config.activation)),
        after_mlp(weights, prefix + "final_layer_norm.", config.hidden, config.rms_norm_eps) {}

  void attend(const layers::forward_context& context, int own, int encoder_input, const activations& x) const {
    attention.add(context, own, x, x);
    after_attention(context, x, x);
    cross.add(context, encoder_input, x, x);
    after_cross(context, x, x);
  }

  void feed_forward(const layers::forward_context& context, const activations& x) const {
    mlp.add(context, x, x);
    after_mlp(context, x, x);
  }

  std::int64_t bytes() const {
    return attention.bytes() + after_attention.bytes() + cross.bytes() + after_cross.bytes() + mlp.bytes() +
           after_mlp.bytes();
  }
};

/// The three tables of tokens: one matrix where they are tied, whatever copies of it a checkpoint holds.
struct token_tables {
  layers::embedding encoder;
  layers::embedding decoder;
  layers::head head;
};

constexpr const char* head_name = "lm_head.weight";

std::vector<std::string> table_names(const std::string& prefix) {
  return {prefix + "shared.weight", prefix + "encoder.embed_tokens.weight", prefix + "decoder.embed_tokens.weight",
          head_name};
}

token_tables read_tied(const load::model_config& config, double scale, layers::weight_reader& weights,
                       const std::string& prefix) {
  const auto names = table_names(prefix);
  const auto found = std::ranges::find_if(names, [&](const auto& name) { return weights.has(name); });
  for (const auto& name : names) weights.pass_over(name);
  const layers::embedding shared(weights, found == names.end() ? names.front() : *found, config.vocabulary,
                                 config.hidden, scale);
  return {shared, shared, layers::head(shared)};
}

token_tables read_untied(const load::model_config& config, double scale, layers::weight_reader& weights,
                         const std::string& prefix) {
  const auto names = table_names(prefix);
  const auto own_or_shared = [&](std::size_t index) { return weights.has(names[index]) ? names[index] : names[0]; };
  weights.pass_over(names[0]);
  layers::embedding encoder(weights, own_or_shared(1), config.vocabulary, config.hidden, scale);
  layers::embedding decoder(weights, own_or_shared(2), config.vocabulary, config.hidden, scale);
  return {std::move(encoder), std::move(decoder),
          layers::head(weights, own_or_shared(3), config.vocabulary, config.hidden)};
}

token_tables read_tables(const load::model_config& config, const load::bart_fields& own, layers::weight_reader& weights,
                         const std::string& prefix) {
  const auto scale = own.scale_embedding ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
  return config.tie_embeddings ? read_tied(config, scale, weights, prefix)
                               : read_untied(config, scale, weights, prefix);
}

std::vector<float> read_logit_bias(const load::model_config& config, layers::weight_reader& weights) {
  constexpr const char* name = "final_logits_bias";
  if (!weights.has(name)) return {};
  return weights.numbers(name, {1, config.vocabulary});
}

/// The decoder's layers alternate between self- and cross-attention caches: 2 i and 2 i + 1.
std::vector<cache::kv_cache_spec> shapes_of(const load::model_config& config) {
  std::vector<cache::kv_cache_spec> shapes;
  const cache::kv_cache_spec own{.kv_heads = static_cast<int>(config.kv_heads),
                                 .head_dim = static_cast<int>(config.head_dim)};
  auto cross = own;
  cross.kind = cache::layer_kind::cross;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    shapes.push_back(own);
    shapes.push_back(cross);
  }
  return shapes;
}

template <class Layer, class Read>
std::vector<Layer> read_layers(std::int64_t count, const std::string& prefix, Read read) {
  std::vector<Layer> layers;
  for (std::int64_t index = 0; index < count; ++index) {
    layers.push_back(read(fmt::format("{}layers.{}.", prefix, index)));
  }
  return layers;
}

/// The encoder inputs of one encode() as a cache that only the encoder's own attention uses: slot i is row i, and each
/// layer overwrites what the one before it stored. A cross layer, because every token of an encoder input attends to
/// all of it.
struct encoder_memory {
  cache::step step;
  cache::cache memory;
  std::vector<kernels::token_rows> rows;

  encoder_memory(const layers::forward_context& context, const cache::kv_cache_spec& shape)
      : step(numbered(context.step)),
        memory(std::span(&shape, 1), options_for(context)),
        rows(context.rows.begin(), context.rows.end()) {
    memory.reserve_encoder(step);
  }

  static cache::step numbered(const cache::step& step) {
    std::vector<cache::step_row> rows(step.rows().begin(), step.rows().end());
    for (std::size_t index = 0; index < rows.size(); ++index) rows[index].slot = static_cast<int>(index);
    return cache::step(rows);
  }

  static cache::options options_for(const layers::forward_context& context) {
    const auto longest = static_cast<int>(context.reach());
    return {.type = cache::scalar::f32,
            .slots = static_cast<int>(context.rows.size()),
            .max_sequence_length = longest,
            .max_encoder_length = longest};
  }
};

class bart final : public network {
 public:
  bart(const load::model_config& config, const load::bart_fields& own, layers::weight_reader& weights,
       const std::string& prefix)
      : bart(config, own, weights, prefix, read_tables(config, own, weights, prefix)) {}

  void encode(const layers::forward_context& context, std::span<const token> tokens) const override {
    const auto x = context.space.take(static_cast<std::int64_t>(tokens.size()), hidden_);
    encoder_memory own(context, encoder_shape_);
    const layers::forward_context inner{
        .run = context.run, .step = own.step, .memory = own.memory, .rows = own.rows, .space = context.space};
    read_(inner, tokens, x);
    for (const auto& layer : encoder_) layer(inner, x);
    for (std::size_t index = 0; index < decoder_.size(); ++index) {
      decoder_[index].cross.remember(context, source_of(index), x);
    }
  }

  bool has_encoder() const noexcept override { return true; }

  bool has_position_table() const noexcept override { return true; }

  void forward(const layers::forward_context& context, std::span<const token> tokens, std::span<const int> outputs,
               const activations& logits) const override {
    auto x = context.space.take(static_cast<std::int64_t>(tokens.size()), hidden_);
    write_(context, tokens, x);
    for (std::size_t index = 0; index < decoder_.size(); ++index) {
      decoder_[index].attend(context, source_of(index) - 1, source_of(index), x);
      if (index + 1 == decoder_.size()) x = keep(outputs, x);
      decoder_[index].feed_forward(context, x);
    }
    head_(context, x, logits);
    add_bias(logits);
  }

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return shapes_; }

  std::int64_t weight_bytes() const noexcept override {
    std::int64_t bytes = head_.bytes();
    for (const auto& layer : decoder_) bytes += layer.bytes();
    return bytes;
  }

  std::string_view weight_type() const noexcept override { return weight_type_; }

 private:
  bart(const load::model_config& config, const load::bart_fields& own, layers::weight_reader& weights,
       const std::string& prefix, token_tables tables)
      : hidden_(config.hidden),
        read_(config, std::move(tables.encoder), weights, prefix + "encoder."),
        encoder_(read_layers<encoder_layer>(
            own.encoder_layers, prefix + "encoder.",
            [&](const std::string& name) { return encoder_layer(config, own, weights, name); })),
        write_(config, std::move(tables.decoder), weights, prefix + "decoder."),
        decoder_(
            read_layers<decoder_layer>(config.layers, prefix + "decoder.",
                                       [&](const std::string& name) { return decoder_layer(config, weights, name); })),
        head_(std::move(tables.head)),
        logit_bias_(read_logit_bias(config, weights)),
        encoder_shape_{.kind = cache::layer_kind::cross,
                       .kv_heads = static_cast<int>(own.encoder_heads),
                       .head_dim = static_cast<int>(config.hidden / own.encoder_heads)},
        shapes_(shapes_of(config)),
        weight_type_(load::to_string(weights.most_common_type())) {}

  static int source_of(std::size_t index) { return static_cast<int>(2 * index + 1); }

  void add_bias(const activations& logits) const {
    if (logit_bias_.empty()) return;
    for (std::int64_t row = 0; row < logits.rows; ++row) {
      std::transform(logit_bias_.begin(), logit_bias_.end(), logits.row(row), logits.row(row), std::plus<>());
    }
  }

  std::int64_t hidden_;
  bart_entry read_;
  std::vector<encoder_layer> encoder_;
  bart_entry write_;
  std::vector<decoder_layer> decoder_;
  layers::head head_;
  std::vector<float> logit_bias_;  // [vocabulary], or empty
  cache::kv_cache_spec encoder_shape_;
  std::vector<cache::kv_cache_spec> shapes_;
  std::string_view weight_type_;
};

}  // namespace

std::unique_ptr<const network> make_bart(const load::config_fields& fields, const load::model_config& config,
                                         layers::weight_reader& weights) {
  const std::string prefix = weights.has("encoder.embed_positions.weight") ? "" : "model.";
  for (const auto* half : {"encoder.version", "decoder.version"}) weights.pass_over(prefix + half);
  return std::make_unique<const bart>(config, load::read_bart_fields(fields, config), weights, prefix);
}

}  // namespace cogen::models
