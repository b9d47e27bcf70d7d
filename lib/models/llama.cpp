#include "models/llama.hpp"

#include "layers/attention.hpp"
#include "layers/embedding.hpp"
#include "layers/gated_mlp.hpp"
#include "layers/norm.hpp"
#include "layers/rope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace cogen::models {

namespace {

using layers::activations;

layers::attention_shape attention_shape_of(const load::model_config& config) {
  return {.hidden = config.hidden,
          .heads = static_cast<int>(config.heads),
          .kv_heads = static_cast<int>(config.kv_heads),
          .head_dim = static_cast<int>(config.head_dim),
          .bias = config.attention_bias};
}

struct decoder_layer {
  layers::rms_norm before_attention;
  layers::attention attention;
  layers::rms_norm before_mlp;
  layers::gated_mlp mlp;

  decoder_layer(const load::model_config& config, layers::weight_reader& weights, const std::string& prefix)
      : before_attention(weights, prefix + "input_layernorm.weight", config.hidden, config.rms_norm_eps),
        attention(weights, prefix + "self_attn.", attention_shape_of(config)),
        before_mlp(weights, prefix + "post_attention_layernorm.weight", config.hidden, config.rms_norm_eps),
        mlp(weights, prefix + "mlp.", config.hidden, config.intermediate, config.mlp_bias) {}

  std::int64_t bytes() const { return before_attention.bytes() + attention.bytes() + before_mlp.bytes() + mlp.bytes(); }
};

/// Moves the rows that `outputs` (ascending) names to the front.
activations keep(std::span<const int> outputs, const activations& x) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (static_cast<std::size_t>(outputs[i]) == i) continue;
    std::copy_n(x.row(outputs[i]), x.columns, x.row(static_cast<std::int64_t>(i)));
  }
  return x.first_rows(static_cast<std::int64_t>(outputs.size()));
}

class llama final : public network {
 public:
  llama(const load::model_config& config, layers::weight_reader& weights)
      : hidden_(config.hidden),
        rope_(config.rope, config.max_positions),
        embedding_(weights, "model.embed_tokens.weight", config.vocabulary, config.hidden),
        layers_(read_layers(config, weights)),
        norm_(weights, "model.norm.weight", config.hidden, config.rms_norm_eps),
        head_(config.tie_embeddings ? layers::head(embedding_)
                                    : layers::head(weights, "lm_head.weight", config.vocabulary, config.hidden)),
        shapes_(layers_.size(),
                {.kv_heads = static_cast<int>(config.kv_heads), .head_dim = static_cast<int>(config.head_dim)}),
        weight_type_(load::to_string(weights.most_common_type())) {}

  void forward(const layers::pass& pass, std::span<const token> tokens, std::span<const int> outputs,
               const activations& logits) const override {
    const auto rope = rope_.covering(pass.reach());
    const auto count = static_cast<std::int64_t>(tokens.size());
    auto x = pass.space.take(count, hidden_);
    auto normed = pass.space.take(count, hidden_);

    embedding_(pass, tokens, x);
    for (std::size_t index = 0; index < layers_.size(); ++index) {
      const auto& layer = layers_[index];
      layer.before_attention(pass, x, normed);
      layer.attention.add(pass, static_cast<int>(index), rope.get(), normed, x);
      if (index + 1 == layers_.size()) {
        x = keep(outputs, x);
        normed = normed.first_rows(x.rows);
      }
      layer.before_mlp(pass, x, normed);
      layer.mlp.add(pass, normed, x);
    }
    norm_(pass, x, normed);
    head_(pass, normed, logits);
  }

  const std::vector<cache::layer_shape>& layer_shapes() const noexcept override { return shapes_; }

  std::int64_t weight_bytes() const noexcept override {
    std::int64_t bytes = norm_.bytes() + head_.bytes();
    for (const auto& layer : layers_) bytes += layer.bytes();
    return bytes;
  }

  std::string_view weight_type() const noexcept override { return weight_type_; }

 private:
  static std::vector<decoder_layer> read_layers(const load::model_config& config, layers::weight_reader& weights) {
    std::vector<decoder_layer> read;
    for (std::int64_t index = 0; index < config.layers; ++index) {
      read.emplace_back(config, weights, fmt::format("model.layers.{}.", index));
    }
    return read;
  }

  std::int64_t hidden_;
  layers::rope rope_;
  layers::embedding embedding_;
  std::vector<decoder_layer> layers_;
  layers::rms_norm norm_;
  layers::head head_;
  std::vector<cache::layer_shape> shapes_;
  std::string_view weight_type_;
};

}  // namespace

std::unique_ptr<const network> make_llama(const load::config_fields&, const load::model_config& config,
                                          layers::weight_reader& weights) {
  return std::make_unique<llama>(config, weights);
}

}  // namespace cogen::models
